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

    void push(Pending p) {
        if (size == 0) head = 0;  // stay in the first lines
        entries[(head + size++) % capacity] = p;
    }
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

/// Instructions that a wave has executed and the clock has not reached yet: one that others may see or that sees them, and
/// those behind it that concern the wave alone, or in a kernel whose waves do not meet, accesses as well.
struct RunAhead {
    static constexpr std::uint32_t capacity = 64;
    std::uint64_t jumped = 0;      // one bit for each: a branch that was taken
    std::uint8_t next = 0, count = 0;
    std::uint8_t next_access = 0;  // in AccessNotes
    Step last = Step::next;        // how the last one ended; the others went on, or jumped
    std::uint32_t end = 0;         // the wave's place in the code after it: the wave itself is out of the host's caches by then
};

/// The accesses of a RunAhead, in order.
struct AccessNotes {
    static constexpr std::size_t capacity = 16, line_capacity = 256;
    static_assert(line_capacity >= kMostLines);
    std::uint32_t count = 0, lines = 0;
    Touched access[capacity];
    std::uint64_t line[line_capacity];
    std::uint8_t parts[line_capacity];

    void clear() { count = lines = 0; }
    /// Whether there is room for another one, whatever it touches.
    [[nodiscard]] bool room() const { return count < capacity && lines + kMostLines <= line_capacity; }
    void add(Touched touched) {
        if (touched.space == Space::global) {
            std::copy_n(touched.line, touched.lines, line + lines);
            std::copy_n(touched.parts, touched.lines, parts + lines);
            touched.line = line + lines;
            touched.parts = parts + lines;
            lines += static_cast<std::uint32_t>(touched.lines);
        }
        access[count++] = touched;
    }
};

/// What each step of the clock looks at comes first: hundreds of waves take turns, and what they touch must be fetched anew.
struct alignas(64) TimedWave {
    Wave* wave = nullptr;
    TimedGroup* group = nullptr;
    std::uint32_t pc = 0;     // of the instruction that the clock reaches next
    RunAhead ahead;
    std::uint32_t issued_count = 0;
    std::uint32_t fetch_line = ~0U;
    std::uint8_t index = 0;   // in the workgroup
    std::uint8_t simd = 0, simd_slot = 0;
    bool at_grid_barrier = false;
    int trace = -1;
    std::int64_t arrived = 0;  // at the barrier
    std::int64_t issued[kHistory];
    PendingQueue<16> local_and_scalar;
    PendingQueue<64> vector_memory;
    std::int64_t begin = 0;
    AccessNotes notes;

    TimedWave() {}  // NOLINT: leaves arrays alone that `start` and their users fill

    void start(Wave& of, TimedGroup& its_group, std::uint32_t which, int on_simd, std::int64_t t) {
        wave = &of;
        group = &its_group;
        pc = of.pc;
        ahead = {};
        notes.clear();
        index = static_cast<std::uint8_t>(which);
        simd = static_cast<std::uint8_t>(on_simd);
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
    /// Have the first lines at hand when its turn comes.
    void prefetch() const {
        const auto* line = reinterpret_cast<const char*>(this);
        for (int i = 0; i < 4; ++i) __builtin_prefetch(line + 64 * i, 1, 2);
        __builtin_prefetch(notes.access + ahead.next_access, 0, 2);
        __builtin_prefetch(notes.line, 0, 2);
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
    Cu(const TimingConstants& c, int which, const std::int64_t& now) : number(which), sqc(sqc_of(c, which)), memory(c, now) {}
    int number;
    int sqc;  // its instruction and scalar cache
    Earliest<kMaxWaves> ready;  // when each wave may issue next
    std::vector<TimedWave> waves;  // never moved: there is room for all before the first one comes
    Simd simd[4];
    int lds_used = 0, groups = 0;
    std::int64_t lds_free = 0, smem_free = 0, vmem_free = 0;
    bool vmem_held = false;  // the vector memory port is late because the address unit was
    std::int64_t idle_since = 0, busy_cycles = 0;
    int alive = 0;
    CuMemory memory;

    /// Its turn is next, up to `until`: have the waves at hand that will issue.
    void prefetch(std::int64_t until) const {
        for (std::size_t slot = 0; slot < waves.size(); ++slot)
            if (ready.time_of(slot) <= until) waves[slot].prefetch();
    }

    /// Two CUs share the caches; where one of a pair is disabled, the other has them alone.
    static int sqc_of(const TimingConstants& c, int which) {
        const int pairs = c.cus_per_xcd() - c.sqcs_per_xcd;
        return which < 2 * pairs ? which / 2 : which - pairs;
    }
};

}  // namespace hipscope
