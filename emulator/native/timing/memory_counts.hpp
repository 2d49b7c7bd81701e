// What the caches of the timed XCD saw: plain sums, turned into hardware counters by engine/counters.cpp.
#pragma once

#include <cstdint>

namespace hipscope {

/// Where the lines of one memory instruction were found, summed over the timed waves. `requests`: lines of the L1 that were not there.
struct CacheCounts {
    std::uint64_t lines = 0, l1_hits = 0, l2_hits = 0, memory_lines = 0, requests = 0;
};

/// Requests of the instruction caches, or of the scalar data caches. `duplicates` miss on a line already asked for.
struct LineCacheCounts {
    std::uint64_t hits = 0, misses = 0, duplicates = 0;
    void add(const LineCacheCounts& other) {
        hits += other.hits;
        misses += other.misses;
        duplicates += other.duplicates;
    }
};

/// The L2 and what leaves it. Reads are of lines or a part of one, writes and atomics of 64-byte halves.
struct L2Counts {
    std::uint64_t read_hits = 0, read_misses = 0, write_hits = 0, write_misses = 0, atomic_hits = 0, atomic_misses = 0;
    std::uint64_t scalar_reads = 0;                             // those of the scalar caches, counted above too
    std::uint64_t fabric_reads_128 = 0, fabric_reads_64 = 0;    // 64: for the scalar caches
    std::uint64_t fabric_writes_64 = 0, fabric_writes_32 = 0;   // 32: one half of the 64 bytes was not written
    std::uint64_t evicted_lines = 0, written_back_lines = 0;    // modified lines: while running, at the end of the kernel
    double fabric_read_cycles = 0;                              // sum of waiting times
    double hbm_read_bytes = 0, hbm_write_bytes = 0, mall_bytes = 0;
};

}  // namespace hipscope
