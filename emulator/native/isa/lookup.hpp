// Finding the row of a mnemonic, in the build of the table that suits this CPU.
#pragma once

#include <string_view>
#include <vector>

#include "isa/entry.hpp"

namespace hipscope::isa {

/// The row of `name` (without encoding suffix), or nullptr.
const Entry* find(std::string_view name);

/// Every name of the table, sorted.
std::vector<std::string_view> names();

/// Which build of the handlers runs here: "baseline", "avx2" or "avx512". HIPSCOPE_ISA_LEVEL=baseline|avx2 lowers it.
std::string_view level();

}  // namespace hipscope::isa
