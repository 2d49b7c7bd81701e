// State of one CU in the timing model: its waves with their outstanding memory operations, SIMDs, ports and caches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/workgroup.hpp"
#include "timing/earliest.hpp"
#include "timing/instruction_info.hpp"
#include "timing/memory_path.hpp"
#include "timing/run_ahead.hpp"
#include "timing/stalls.hpp"

namespace hipscope {

inline constexpr std::size_t kMaxWaves = 64;  // per CU, more than any gfx9 holds; a bit each
inline constexpr std::size_t kMemoryTurn = kMaxWaves - 1;  // in place of a wave: the vector memory port takes the next one
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

/// A workgroup as the clock sees it.
struct TimedGroup {
    std::uint64_t number = 0;
    std::uint64_t executed = 0;             // instructions that the clock has reached
    std::uint32_t alive = 0, waiting = 0;   // its waves, and those of them at the barrier
    std::int64_t last_arrival = 0;
    std::vector<int> slots;                 // of its waves in the CU
    std::unique_ptr<Workgroup> executing;   // until all waves have been executed to their ends, which may be long before the clock
};

/// What each step of the clock looks at comes first: hundreds of waves take turns, and what they touch must be fetched anew.
struct alignas(64) TimedWave {
    TimedGroup* group = nullptr;  // none: the slot is empty
    std::uint32_t pc = 0;         // of the instruction that the clock reaches next
    std::uint32_t fetch_line = ~0U;
    RunAhead ahead;
    std::uint8_t issued_count = 0;
    std::uint8_t index = 0;       // in the workgroup
    std::uint8_t simd = 0, simd_slot = 0;
    bool at_barrier = false, at_grid_barrier = false;
    std::int16_t trace = -1;
    std::int64_t begin = 0;
    std::int64_t arrived = 0;     // at the barrier
    Wave* wave = nullptr;         // while its workgroup is executing
    std::uint32_t issued[kHistory];  // lower halves of times
    alignas(64) PendingQueue<16> local_and_scalar;
    alignas(64) PendingQueue<64> vector_memory;
    alignas(64) AccessNotes notes;
    BranchNotes branches;
    std::uint32_t grid_barriers = 0;  // that it has left

    TimedWave() {}  // NOLINT: leaves arrays alone that `start` and their users fill

    void start(Wave& of, TimedGroup& its_group, std::uint32_t which, int on_simd, std::int64_t t) {
        group = &its_group;
        wave = &of;
        pc = of.pc;
        fetch_line = ~0U;
        ahead.clear();
        notes.clear();
        issued_count = 0;
        index = static_cast<std::uint8_t>(which);
        simd = static_cast<std::uint8_t>(on_simd);
        at_barrier = at_grid_barrier = false;
        trace = -1;
        arrived = 0;
        grid_barriers = 0;
        begin = t;
        std::fill(std::begin(issued), std::end(issued), static_cast<std::uint32_t>(t) - (1U << 30U));  // long ago
        vector_memory.size = 0;
        local_and_scalar.size = 0;
    }
    /// Have the first lines at hand when its turn comes.
    void prefetch() const {
        const auto* line = reinterpret_cast<const char*>(this);
        for (int i = 0; i < 3; ++i) __builtin_prefetch(line + 64 * i, 1);
        __builtin_prefetch(&vector_memory, 1);
        notes.prefetch();
    }
};
static_assert(offsetof(TimedWave, issued) == 64);

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
    /// The line is there from `filled` on, without a request; one that is there already stays as it is.
    void put(std::uint64_t line, std::int64_t filled) {
        if (tags_.find(line) == nullptr) tags_.insert(line).filled = filled;
    }
    [[nodiscard]] const LineCacheCounts& counts() const { return counts_; }

private:
    Tags tags_;
    LineCacheCounts counts_;
};

/// When a SIMD can issue the next instruction of each category but VALU: a turn takes one of each, from different waves.
/// Vector memory has one port for all SIMDs, which is slower.
struct IssueTurns {
    std::int64_t scalar = 0, lds = 0, branch = 0;
};

struct Simd {
    std::int64_t valu_free = 0;
    IssueTurns free;
    bool long_operation = false;  // what keeps the VALU busy takes more than one pass
    int waves = 0;
    int vgprs = 0;
    std::uint32_t slots = 0;      // one bit per wave slot in use
};

/// The waves that wait for the CU's vector memory port. Its SIMDs take turns, and of a SIMD's waves the one goes first that has
/// waited longest: measured times say so where what all waves load does not fit the caches (docs/accuracy.md, "What is in the model").
struct MemoryTurns {
    std::uint64_t waiting = 0;  // a bit for each wave
    std::uint64_t late = 0;     // the same of waves whose next instruction is attempted again
    std::uint64_t of_simd[4] = {};
    int last_simd = 3;          // the one that had its turn
    std::int64_t attempted[kMaxWaves], asked[kMaxWaves];  // when the instruction was next, and when only the port was missing

    /// When the wave's next instruction was attempted that is attempted now.
    std::int64_t first_attempt(std::size_t slot, std::int64_t now) {
        if ((late >> slot & 1U) == 0) return now;
        late &= ~(std::uint64_t{1} << slot);
        return attempted[slot];
    }
    void attempt_again(std::size_t slot, std::int64_t attempt) {
        late |= std::uint64_t{1} << slot;
        attempted[slot] = attempt;
    }
    void wait(std::size_t slot, int simd, std::int64_t attempt, std::int64_t t) {
        waiting |= std::uint64_t{1} << slot;
        of_simd[simd] |= std::uint64_t{1} << slot;
        attempted[slot] = attempt;
        asked[slot] = t;
    }
    /// Whose turn it is; some wave waits.
    std::size_t next() {
        do last_simd = (last_simd + 1) % 4;
        while (of_simd[last_simd] == 0);
        std::uint64_t& own = of_simd[last_simd];
        auto first = static_cast<std::size_t>(std::countr_zero(own));
        for (std::uint64_t rest = own & (own - 1); rest != 0; rest &= rest - 1)
            if (const auto slot = static_cast<std::size_t>(std::countr_zero(rest)); asked[slot] < asked[first]) first = slot;
        own &= ~(std::uint64_t{1} << first);
        waiting &= ~(std::uint64_t{1} << first);
        return first;
    }
};

struct Cu {
    Cu(const TimingConstants& c, int which, L1Lines l1, const std::int64_t& now)
        : number(which), sqc(sqc_of(c, which)), lds_banks(now), memory(c, std::move(l1), now) {}
    int number;
    int sqc;  // its instruction and scalar cache
    Earliest<kMaxWaves> ready;  // when each wave may issue next
    std::vector<TimedWave> waves;  // never moved: there is room for all before the first one comes
    std::uint64_t taken = 0;       // one bit for each slot of a wave: it is occupied
    Simd simd[4];
    int lds_used = 0, groups = 0;
    Server lds_banks;
    std::int64_t lds_way_free[2] = {};  // of the two pairs of SIMDs: their ways to the LDS and back
    std::int64_t smem_free = 0, vmem_free = 0;
    MemoryTurns turns;
    bool vmem_held = false;  // the vector memory port is late because the address unit was
    std::int64_t idle_since = 0, busy_cycles = 0;
    int alive = 0;
    CuMemory memory;

    /// Its turn is next, up to `until`: have the waves at hand that will issue.
    void prefetch(std::int64_t until) const {
        for (std::size_t slot = 0; slot < waves.size(); ++slot)
            if (ready.time_of(slot) <= until) waves[slot].prefetch();
    }

    /// The same of the places that the next waves get.
    void prefetch_places(int count) const {
        for (std::uint64_t free = ~taken; free != 0 && count > 0; free &= free - 1, --count) {
            const auto slot = static_cast<std::size_t>(std::countr_zero(free));
            if (slot < waves.size()) waves[slot].prefetch();
        }
    }

    /// Two CUs share the caches; where one of a pair is disabled, the other has them alone.
    static int sqc_of(const TimingConstants& c, int which) {
        const int pairs = c.cus_per_xcd() - c.sqcs_per_xcd;
        return which < 2 * pairs ? which / 2 : which - pairs;
    }
};

}  // namespace hipscope
