// Questions about the 64 addresses of an access, answered for all of them at once.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace hipscope::sanitize {

/// True when lane i's address is the first one plus i * bytes, for all lanes.
bool is_row(const MemoryAccess& made, int which);
/// True when the bytes of each of `lanes` lie behind those of the lanes before it, so that no two lanes meet on a word.
bool ascending(const std::uint64_t* address, std::uint64_t lanes, std::uint64_t bytes);
/// Fills in the addresses of a run.
void spell_out(MemoryAccess& made);
/// All bits that are set in the address of one of `lanes`.
std::uint64_t bits_in_addresses(const std::uint64_t* address, std::uint64_t lanes);
/// The lowest and the highest of some addresses.
struct Span {
    std::uint64_t lowest = 0, highest = 0;
};
/// How the active lanes' addresses lie: what all checks ask, found in one go.
struct Shape {
    bool row = false;        // see is_row
    std::uint64_t bits = 0;  // see bits_in_addresses; of a row those of the first
    Span span;
};
/// Of the lanes' first addresses; `run`: they were recorded as one. There is at least one lane.
Shape shape_of(const MemoryAccess& made, bool run);

}  // namespace hipscope::sanitize
