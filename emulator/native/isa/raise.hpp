// Reporting what stops a wave. Compiled once: no string code in the files that exist per instruction set.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace hipscope::isa {

/// Fills Wave::fault, message included. Returns Step::fault.
Step raise(Wave& wave, FaultKind kind, std::uint64_t address, std::uint32_t bytes, int lane, bool write);

}  // namespace hipscope::isa
