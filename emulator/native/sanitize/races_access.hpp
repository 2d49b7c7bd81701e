// The data about one access that the parts of the search for races share.
#pragma once

#include "sanitize/races.hpp"

namespace hipscope::sanitize {

inline constexpr unsigned kLdsPageBits = 8;  // see Usages

/// One instruction's access on its way through the checks.
struct Races::Access {
    GroupOrder& order;
    const Wave& wave;
    const Instruction& in;
    const MemoryAccess& made;
    const Found& found;
    std::uint64_t group;
    Trace mine;
    std::uint32_t base;   // segments before it cannot conflict
    bool load, store, lds, swap;
    std::uint64_t lanes;  // of a flat atomic operation only those in global memory
    const Shape& shape;

    [[nodiscard]] bool returns() const { return made.kind == AccessKind::atomic_return; }
    /// Where the word with address 0 lies.
    [[nodiscard]] std::uint64_t content() const { return lds ? reinterpret_cast<std::uint64_t>(wave.lds) : 0; }  // NOLINT
    [[nodiscard]] Foreign foreign() const { return {base, mine.segment()}; }
};

}  // namespace hipscope::sanitize
