// Questions about the 64 addresses of an access, answered for all of them at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wave.hpp"

namespace hipscope::sanitize {

/// True when the bytes of each of `lanes` lie behind those of the lanes before it, so that no two lanes meet on a word.
bool ascending(const std::uint64_t* address, std::uint64_t lanes, std::uint64_t bytes);
/// The lowest and the highest of some addresses.
struct Span {
    std::uint64_t lowest = 0, highest = 0;
};
/// Bytes that lanes which follow each other access, each its own behind those of the lane before, or all the same.
struct Piece {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint8_t lane;  // the first
    bool shared;        // all lanes have the same bytes
};
/// How the active lanes' addresses lie: what all checks ask, found in one go.
struct Shape {
    std::uint64_t bits = 0;  // that are set in one of the addresses; the lowest ones are exact
    Span span;               // of them
    /// All that the access touches, or none when it lies otherwise. Pieces of a store or an atomic operation do not meet, but
    /// for those of different addresses of a lane.
    std::size_t pieces = 0;
    std::array<Piece, std::size_t{2} * kTeams> piece;
};
/// How the addresses lie. Those of a run or of teams are filled in unless pieces describe them; `each_lane`: always.
Shape shape_of(MemoryAccess& made, bool each_lane);

}  // namespace hipscope::sanitize
