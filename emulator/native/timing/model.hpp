// The timed XCD's state, shared by the parts of the model: placement.cpp puts workgroups on CUs, issue.cpp decides when
// an instruction issues and what it waited for, completion.cpp when its result is there, xcd.cpp runs the clock.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "timing/cu.hpp"
#include "timing/l2_lines.hpp"
#include "timing/xcd.hpp"

namespace hipscope {

inline constexpr std::size_t kMaxCus = 128;  // per XCD or die
inline constexpr std::int64_t kNever = Earliest<kMaxCus>::never;

struct TimingStorage::Parts {
    std::vector<std::vector<TimedWave>> waves;  // of CUs; all empty
    std::vector<std::unique_ptr<TimedGroup>> groups;
    std::vector<std::unique_ptr<Workgroup>> executing;  // their registers and memory
    std::vector<L1Lines> l1;
    std::optional<Tags> l2;
    std::int64_t l2_clock = 0;

    /// The tags of the L2 at the begin of a launch: with what the last one left and nobody has `written` since, with `lines`
    /// in place of that, or empty.
    Tags& l2_at_launch(const TimingConstants& c, const WrittenLines* written, const L2Lines* lines) {
        if (!l2) l2.emplace(c.l2_bytes, 1 << kLineBits, c.l2_ways, c.l2_scattered_bytes, CacheChannels{c.l2_channels, c.l2_channel_bytes, c.l2_distant_bytes});
        if (written != nullptr && lines == nullptr) {
            written->remove_from(*l2);
            return *l2;
        }
        l2->clear();
        if (lines != nullptr) fill(*l2, *lines);
        return *l2;
    }
    /// The lines of an L1, none.
    L1Lines empty_l1(const TimingConstants& c) {
        if (l1.empty()) return L1Lines(c.l1_bytes, c.l1_line_bytes, c.l1_ways);
        L1Lines lines = std::move(l1.back());
        l1.pop_back();
        lines.clear();
        return lines;
    }
};

struct XcdSimulator::Model {
    /// What one workgroup takes of a CU; `vgprs` is per wave.
    struct Shape {
        int vgprs, lds, waves;
    };

    const TimingConstants& c;
    const PreparedLaunch& launch;
    Memory& memory;
    GroupSource& groups;
    CountingObserver observer;
    const MemorySlots& slots;
    TimingLimits limits;
    const std::vector<InstructionInfo>& info;
    Shape shape;
    unsigned early;                        // what may be executed before the clock is there: see InstructionInfo
    std::int64_t now = 0;                  // time of the CU that is furthest behind: nothing happens before it
    TimingStorage::Parts& storage;
    XcdMemory shared;
    std::vector<std::unique_ptr<Cu>> cus;  // made when the first workgroup comes; the hardware has more
    Earliest<kMaxCus> order;               // which CU is furthest behind
    std::uint64_t cold_line = ~0ULL;  // of the kernel's first launch: the one line that each instruction cache misses
    std::vector<LineCache> icaches, scalar_caches;
    std::vector<std::unique_ptr<TimedGroup>> pool;
    std::vector<TimedGroup*> free_groups;
    std::vector<std::unique_ptr<Workgroup>> idle;  // what was used last comes last
    std::uint64_t touched_line[kMostLines];  // of the access that the clock is at
    std::uint8_t touched_parts[kMostLines];
    TimedResult result;
    std::vector<std::int64_t> grid_arrivals;  // of the last timed wave, at each barrier of the whole dispatch
    std::uint64_t waited = 0;            // what waves that wait for the whole dispatch took of the slices
    std::optional<TimedFault> fault;
    Server dispatcher{now};  // CUs run ahead of each other, so that workgroups ask for their starts out of order
    std::int64_t end = 0;
    std::int64_t closed_at = 0;           // when the first workgroup would have started that did not
    std::uint64_t executed_at_close = 0;  // instructions by then
    std::uint64_t launched = 0;
    bool no_more_groups = false;

    Model(const TimedLaunch& timed, DispatchCounts& counts, TimingLimits limit);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// At the barrier that the wave comes to next: it may be there while another has not looked yet whether the one before is open.
    std::int64_t& grid_arrival(const TimedWave& w) {
        if (w.grid_barriers >= grid_arrivals.size()) grid_arrivals.resize(w.grid_barriers + std::size_t{1});
        return grid_arrivals[w.grid_barriers];
    }

    // xcd.cpp
    void fill_instruction_caches(bool first_launch);
    bool run(std::uint64_t budget);
    bool run_cu(Cu& cu, std::int64_t until);
    TimedResult finish(const EndedGroups& whole);
    void stop(const EndedGroups& whole);
    [[nodiscard]] double extrapolated_cycles() const;

    // placement.cpp
    std::unique_ptr<Cu> new_cu(int number);
    TimedGroup* new_group();
    std::unique_ptr<Workgroup> idle_workgroup();
    static Shape shape_of(const TimingConstants& c, const PreparedLaunch& p);
    void place_first();
    [[nodiscard]] bool fits(const Cu& cu) const;
    bool try_launch(Cu& cu, std::int64_t t);
    void place(Cu& cu, TimedGroup& group, std::uint32_t index, std::int64_t t);
    void retire(Cu& cu, std::size_t slot, std::int64_t t);

    // run_ahead.cpp
    void run_ahead(Cu& cu, TimedWave& w, std::int64_t t);
    void run_ahead(Cu& cu, TimedGroup& group);
    void execute(TimedWave& w, bool at_least_one);
    /// Whether it makes no difference when the instruction is executed.
    [[nodiscard]] bool may_run_early(std::uint32_t pc) const { return (info[pc].early & early) != 0; }
    /// Whether accesses are executed early: they are noted then.
    [[nodiscard]] bool accesses_early() const { return early != InstructionInfo::alone; }

    // issue.cpp: all return the time at which the wave can go on
    bool issue(Cu& cu, std::size_t slot);  // the wave's next instruction; false on a fault
    bool issue_to_memory(Cu& cu);          // that of the wave whose turn it is at the vector memory port
    bool issue(Cu& cu, std::size_t slot, std::int64_t attempted, std::int64_t t, bool has_turn);
    bool waits_for_turn(Cu& cu, std::size_t slot, std::int64_t attempted, std::int64_t now, std::int64_t t) const;
    [[nodiscard]] std::int64_t memory_port_free(const Cu& cu) const { return std::max(cu.vmem_free, cu.memory.address_free - c.address_queue_cycles); }
    Touched touched_now(const TimedWave& w);
    Step next_outcome(TimedWave& w, const InstructionInfo& i);
    std::int64_t leave_grid_barrier(TimedWave& w, std::uint32_t pc);
    bool conclude(Cu& cu, TimedWave& w, std::size_t slot, Step outcome, std::int64_t t, std::uint32_t pc);
    void note(TimedWave& w, std::int64_t attempted, std::int64_t t, std::uint32_t pc);
    std::int64_t wait_for_counters(TimedWave& w, std::uint32_t immediate, std::int64_t t, std::uint32_t pc);
    std::int64_t fetch(Cu& cu, TimedWave& w, std::uint32_t line, std::int64_t t, std::uint32_t pc);
    std::int64_t dependencies(const TimedWave& w, const InstructionInfo& i, std::int64_t t, std::uint32_t pc);
    std::int64_t take_port(std::int64_t& port, std::int64_t t, int cycles, std::uint32_t pc, StallReason reason);
    std::int64_t take_memory_port(Cu& cu, std::int64_t t, int cycles, std::uint32_t pc);
    void release_if_all_arrived(Cu& cu, TimedGroup& group, std::int64_t t);
    void report_runaway(const TimedWave& w, std::uint32_t pc);
    bool within_limit(const TimedWave& w, std::uint32_t pc) {
        if (w.group->executed <= limits.runaway) [[likely]] return true;
        report_runaway(w, pc);
        return false;
    }

    // completion.cpp
    void complete_memory(Cu& cu, TimedWave& w, const InstructionInfo& i, const Touched& access, std::int64_t t,
                         std::uint32_t pc);
    std::int64_t complete_internal(Cu& cu, TimedWave& w, const InstructionInfo& i, std::int64_t t, std::uint32_t pc);
    std::int64_t scalar_load(Cu& cu, const Touched& access, std::int64_t t);
    void complete_lds(Cu& cu, TimedWave& w, const Touched& access, bool vector, std::int64_t t, std::uint32_t pc);
    std::int64_t scratch(Cu& cu, const Touched& access, std::int64_t t);
    void push_vector(TimedWave& w, Pending p);

    // used by several parts
    void charge(std::uint32_t pc, StallReason reason, std::int64_t cycles) {
        result.times[pc].stall[static_cast<std::size_t>(reason)] += cycles;
    }
    /// `waiting` waited for what `producer` had asked for.
    void blame(std::uint32_t waiting, std::uint32_t producer, std::int64_t cycles) {
        auto& list = result.times[waiting].waited_for;
        for (auto& [pc, sum] : list)
            if (pc == producer) {
                sum += cycles;
                return;
            }
        list.emplace_back(producer, cycles);
    }
    /// Wait until at most `left` operations are outstanding.
    template <std::uint32_t capacity>
    std::int64_t drain(PendingQueue<capacity>& queue, std::uint32_t left, std::int64_t t, std::uint32_t pc) {
        while (queue.size > left) {
            const Pending& p = queue.front();
            if (p.time > t) {
                charge(pc, p.reason, p.time - t);
                blame(pc, p.pc, p.time - t);
                t = p.time;
            }
            queue.pop();
        }
        return t;
    }
    /// The end of a wave waits for all that is outstanding, as s_waitcnt 0 does (ISA, S_ENDPGM). What it waits for has the cycles:
    /// no line of the source but that says why the wave stays.
    template <std::uint32_t capacity>
    std::int64_t wait_for_rest(PendingQueue<capacity>& queue, std::int64_t t) {
        for (; queue.size > 0; queue.pop()) {
            const Pending& p = queue.front();
            if (p.time <= t) continue;
            charge(p.pc, p.reason, p.time - t);
            t = p.time;
        }
        return t;
    }
    template <std::uint32_t capacity>
    std::int64_t room_in(PendingQueue<capacity>& queue, std::int64_t t, std::uint32_t pc) {
        return queue.full() ? drain(queue, capacity - 1, t, pc) : t;
    }
};

}  // namespace hipscope
