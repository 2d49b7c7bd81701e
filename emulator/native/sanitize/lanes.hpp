// Questions about the 64 addresses of an access, answered for all of them at once.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace hipscope::sanitize {

/// True when lane i's address is the first one plus i * bytes, for all lanes.
bool is_row(const MemoryAccess& made, int which);
/// Whether the address of a lane, of any of the 64, may lie in [start, start + bytes).
bool any_within(const std::uint64_t* address, std::uint64_t start, std::uint64_t bytes);
/// Fills in the addresses of a run.
void spell_out(MemoryAccess& made);
/// All bits that are set in the address of a lane, of any of the 64.
std::uint64_t bits_in_addresses(const std::uint64_t* address);

}  // namespace hipscope::sanitize
