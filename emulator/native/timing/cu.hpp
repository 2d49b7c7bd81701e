// State of one CU in the timing model: its waves with their outstanding memory operations, SIMDs, ports and caches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/workgroup.hpp"
#include "timing/earliest.hpp"
#include "timing/instruction_info.hpp"
#include "timing/memory_path.hpp"
#include "timing/stalls.hpp"

namespace hipscope {

inline constexpr std::size_t kMaxWaves = 64;  // per CU, more than any gfx9 holds
inline constexpr std::uint32_t kHistory = kDependencyReach;

struct Pending {
    std::int64_t time;
    std::uint32_t pc;
    StallReason reason;
};

/// Outstanding memory operations of one wave counter, oldest first.
template <std::uint32_t capacity>
struct PendingQueue {
    std::uint32_t head = 0, size = 0;
    Pending entries[capacity];

    void push(Pending p) { entries[(head + size++) % capacity] = p; }
    [[nodiscard]] const Pending& front() const { return entries[head]; }
    [[nodiscard]] const Pending& back() const { return entries[(head + size - 1) % capacity]; }
    void pop() {
        head = (head + 1) % capacity;
        --size;
    }
    [[nodiscard]] bool full() const { return size == capacity; }
};

struct TimedGroup {
    explicit TimedGroup(const PreparedLaunch& launch, Memory& memory) : group(launch, memory) {}
    Workgroup group;
    std::vector<int> slots;  // of its waves in the CU
    std::int64_t last_arrival = 0;
};

struct TimedWave {
    Wave* wave = nullptr;
    TimedGroup* group = nullptr;
    std::uint32_t index = 0;  // in the workgroup
    int simd = 0, simd_slot = 0;
    std::uint32_t issued_count = 0;
    std::uint32_t fetch_line = ~0U;
    std::int64_t begin = 0;
    std::int64_t arrived = 0;  // at the barrier
    bool at_grid_barrier = false;
    std::int64_t issued[kHistory] = {};
    PendingQueue<64> vector_memory;
    PendingQueue<16> local_and_scalar;
    int trace = -1;

    void start(Wave& of, TimedGroup& its_group, std::uint32_t which, int on_simd, std::int64_t t) {
        wave = &of;
        group = &its_group;
        index = which;
        simd = on_simd;
        issued_count = 0;
        fetch_line = ~0U;
        begin = t;
        arrived = 0;
        at_grid_barrier = false;
        std::fill(std::begin(issued), std::end(issued), std::int64_t{-1000000});
        vector_memory.size = 0;
        local_and_scalar.size = 0;
        trace = -1;
    }
};

/// Instruction and scalar cache: presence and arrival time of a line, oldest entry replaced.
class LineCache {
public:
    LineCache(int bytes, int line_bytes) : tags_(bytes, line_bytes, std::max(1, std::min(16, bytes / line_bytes))) {}
    /// Time at which the line is there; `miss_time` is called to fetch it.
    template <class Miss>
    std::int64_t get(std::uint64_t line, std::int64_t t, int hit_cycles, Miss miss_time) {
        if (const Tags::Line* hit = tags_.find(line)) {
            ++(hit->filled > t ? counts_.duplicates : counts_.hits);
            return std::max(t + hit_cycles, hit->filled);
        }
        ++counts_.misses;
        const std::int64_t arrival = miss_time();
        tags_.insert(line).filled = arrival;
        return arrival;
    }
    [[nodiscard]] const LineCacheCounts& counts() const { return counts_; }

private:
    Tags tags_;
    LineCacheCounts counts_;
};

struct Simd {
    std::int64_t valu_free = 0, issue_free = 0;
    bool long_operation = false;  // what keeps the VALU busy takes more than one pass
    int waves = 0;
    int vgprs = 0;
    std::uint32_t slots = 0;      // one bit per wave slot in use
};

struct Cu {
    Cu(const TimingConstants& c, int which) : number(which), sqc(sqc_of(c, which)), memory(c) {}
    int number;
    int sqc;  // its instruction and scalar cache
    Earliest<kMaxWaves> ready;  // when each wave may issue next
    std::vector<std::unique_ptr<TimedWave>> waves;
    Simd simd[4];
    int lds_used = 0, groups = 0;
    std::int64_t lds_free = 0, smem_free = 0, vmem_free = 0;
    bool vmem_held = false;  // the vector memory port is late because the address unit was
    std::int64_t idle_since = 0, busy_cycles = 0;
    int alive = 0;
    CuMemory memory;

    /// Two CUs share the caches; where one of a pair is disabled, the other has them alone.
    static int sqc_of(const TimingConstants& c, int which) {
        const int pairs = c.cus_per_xcd() - c.sqcs_per_xcd;
        return which < 2 * pairs ? which / 2 : which - pairs;
    }
};

}  // namespace hipscope
