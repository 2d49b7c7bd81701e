// Which instructions use what a load brought: a load that the compiler has moved may have no line of its own, they may.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/instruction.hpp"

namespace hipscope::sanitize {

/// Numbers of the instructions that read what the load at `load` brought, then of those that read what these computed,
/// and so on: as far as they lie on ways from it through what `ran`. None for what is no load. Calls are not followed.
std::vector<std::vector<std::uint32_t>> uses_of(const Program& program, std::uint32_t load, const std::function<bool(std::uint32_t)>& ran);

}  // namespace hipscope::sanitize
