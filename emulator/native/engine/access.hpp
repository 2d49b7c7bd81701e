// What one wave's memory access touched: distinct cache lines, LDS bank conflicts, lanes on the same address.
// In: Wave::access. Out: the few numbers that the observers add up and the caches are asked for.
#pragma once

#include <cstdint>

#include "core/wave.hpp"

namespace hipscope {

inline constexpr unsigned kLineBits = 7;    // 128-byte lines (CDNA3 L1 and L2)
inline constexpr unsigned kSectorBits = 6;  // 64-byte halves, the size of write requests

/// Distinct cache lines of one access, in order of first touch.
struct Lines {
    int count = 0;
    int sectors = 0;                          // distinct 64-byte halves
    std::uint64_t line[2 * kLanes + 2];       // address >> kLineBits
    std::uint8_t halves[2 * kLanes + 2];      // bit 0 and 1: which half was touched
};

void collect_lines(const MemoryAccess& access, Lines& lines);

/// Cycles that the LDS needs for an access and those of them that bank conflicts add.
struct LdsCost {
    int cycles = 0;
    int conflicts = 0;
};

LdsCost lds_cost(const MemoryAccess& access);

/// Lanes that share the address of an earlier lane of the same access (atomics are served one by one).
int same_address_lanes(const MemoryAccess& access);

}  // namespace hipscope
