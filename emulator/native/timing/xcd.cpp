// The event loop: the CU that is furthest behind runs a quantum; in a CU the wave that can issue first issues next.
// Issue rules: a SIMD's turn comes every 4 cycles and one of its waves issues (s_waitcnt and s_nop take no turn); one
// VALU pipe per SIMD; per CU one LDS, one scalar memory and one vector-memory port. More than one issue per turn would
// fit the ISA reference, but not the measured kernels of benchmarks/mi300a.
#include "timing/xcd.hpp"

#include <algorithm>
#include <bit>

#include "engine/functional.hpp"
#include "timing/cu.hpp"

namespace hipscope {
namespace {

constexpr std::size_t kMaxCus = 128;   // per XCD or die
constexpr std::int64_t kNever = Earliest<kMaxCus>::never;
constexpr std::int64_t kQuantum = 256;  // cycles a CU may run ahead of the slowest one

int granules(int value, int granule) { return (value + granule - 1) / granule * granule; }

struct Shape {
    int vgprs, lds, waves;
};

Shape shape_of(const TimingConstants& c, const PreparedLaunch& p) {
    return {granules(static_cast<int>(p.launch.kernel->allocated_vgprs), c.vgpr_granule),
            granules(static_cast<int>(p.lds_bytes), c.lds_granule), static_cast<int>(p.waves_per_group)};
}

}  // namespace

int workgroups_per_cu(const TimingConstants& c, const PreparedLaunch& p) {
    const Shape shape = shape_of(c, p);
    const int waves_per_simd = std::min(c.max_waves_per_simd, c.vgprs_per_lane / std::max(1, shape.vgprs));
    // A workgroup's waves are spread evenly: count SIMD slots wave by wave.
    const int by_waves = waves_per_simd * c.simds_per_cu / shape.waves;
    const int by_lds = shape.lds > 0 ? c.lds_bytes / shape.lds : by_waves;
    return std::min(by_waves, by_lds);
}

struct XcdSimulator::Model {
    const TimingConstants& c;
    const PreparedLaunch& launch;
    Memory& memory;
    GroupSource& groups;
    CountingObserver observer;
    const MemorySlots& slots;
    TimingLimits limits;
    std::vector<InstructionInfo> info;
    Shape shape;
    XcdMemory shared;
    std::vector<std::unique_ptr<Cu>> cus;
    Earliest<kMaxCus> order;  // which CU is furthest behind
    std::vector<LineCache> icaches, scalar_caches;
    std::vector<std::unique_ptr<TimedGroup>> pool;
    std::vector<TimedGroup*> free_groups;
    TimedResult result;
    std::optional<TimedFault> fault;
    std::int64_t dispatcher_free = 0;
    std::int64_t end = 0;
    std::int64_t closed_at = 0;
    std::uint64_t launched = 0;
    bool no_more_groups = false;

    Model(const TimingConstants& constants, const PreparedLaunch& prepared, Memory& device, GroupSource& source,
          const MemorySlots& memory_slots, DispatchCounts& counts, MallHistory& history, TimingLimits limit)
        : c(constants),
          launch(prepared),
          memory(device),
          groups(source),
          observer(memory_slots, counts),
          slots(memory_slots),
          limits(limit),
          info(instruction_infos(prepared.launch.object->code->program, constants)),
          shape(shape_of(constants, prepared)),
          shared(constants, history,
                 static_cast<int>(std::min<std::uint64_t>(static_cast<unsigned>(constants.xcds), prepared.group_count))) {
        result.times.resize(info.size());
        result.caches.resize(slots.count);
        result.occupancy = static_cast<double>(workgroups_per_cu(c, launch) * shape.waves) / c.simds_per_cu;
        for (int i = 0; i < c.cus_per_xcd(); ++i) cus.push_back(std::make_unique<Cu>(c, i));
        for (int i = 0; i < (c.cus_per_xcd() + 1) / 2; ++i) {
            icaches.emplace_back(c.icache_bytes, c.icache_line_bytes);
            scalar_caches.emplace_back(c.scalar_cache_bytes, c.scalar_line_bytes);
        }
        for (bool any = true; any;) {
            any = false;
            for (const auto& cu : cus) any = try_launch(*cu, 0) || any;
        }
        for (std::size_t i = 0; i < cus.size(); ++i) order.set(i, cus[i]->ready.time());
    }

    // ---- placing workgroups ----

    bool fits(const Cu& cu) const {
        if (cu.lds_used + shape.lds > c.lds_bytes) return false;
        int room = 0;
        for (int s = 0; s < c.simds_per_cu; ++s) {
            const Simd& simd = cu.simd[s];
            const int by_registers = (c.vgprs_per_lane - simd.vgprs) / std::max(1, shape.vgprs);
            room += std::max(0, std::min(c.max_waves_per_simd - simd.waves, by_registers));
        }
        return room >= shape.waves;
    }

    bool try_launch(Cu& cu, std::int64_t t) {
        if (no_more_groups || !fits(cu)) return false;
        if (result.instructions > limits.max_instructions && launched > 0) {
            groups.close_timed();
            no_more_groups = true;
            closed_at = t;
            return false;
        }
        const auto number = groups.next_timed();
        if (!number) {
            no_more_groups = true;
            closed_at = t;
            return false;
        }
        ++launched;
        if (free_groups.empty()) {
            pool.push_back(std::make_unique<TimedGroup>(launch, memory));
            free_groups.push_back(pool.back().get());
        }
        TimedGroup* group = free_groups.back();
        free_groups.pop_back();
        group->group.start(launch, *number);
        group->slots.clear();
        group->last_arrival = 0;
        const std::int64_t begin = std::max(t + c.workgroup_launch_cycles, dispatcher_free);
        dispatcher_free = begin + std::int64_t{c.wave_launch_cycles} * shape.waves;
        cu.lds_used += shape.lds;
        ++cu.groups;
        for (std::uint32_t i = 0; i < launch.waves_per_group; ++i)
            if (group->group.state[i] == WaveState::ready) place(cu, *group, i, begin + std::int64_t{c.wave_launch_cycles} * i);
        return true;
    }

    void place(Cu& cu, TimedGroup& group, std::uint32_t index, std::int64_t t) {
        int best = 0;
        for (int s = 1; s < c.simds_per_cu; ++s)
            if (cu.simd[s].waves < cu.simd[best].waves) best = s;
        std::size_t slot = 0;
        while (cu.waves[slot].wave != nullptr) ++slot;
        TimedWave& wave = cu.waves[slot];
        wave = TimedWave{};
        wave.wave = &group.group.waves[index];
        wave.group = &group;
        wave.index = index;
        wave.simd = best;
        wave.begin = t;
        std::fill(std::begin(wave.issued), std::end(wave.issued), std::int64_t{-1000000});
        cu.simd[best].waves += 1;
        cu.simd[best].vgprs += shape.vgprs;
        cu.ready.set(slot, t);
        group.slots.push_back(static_cast<int>(slot));
        if (cu.alive++ == 0) cu.idle_since = t;
        ++result.waves;
        if (cu.number == 0 && result.traces.size() < static_cast<std::size_t>(limits.traced_waves)) {
            wave.trace = static_cast<int>(result.traces.size());
            result.traces.push_back({cu.number, best, static_cast<int>(slot), t, t, {}});
        }
    }

    void retire(Cu& cu, std::size_t slot, std::int64_t t) {
        TimedWave& wave = cu.waves[slot];
        TimedGroup& group = *wave.group;
        cu.ready.set(slot, kNever);
        cu.simd[wave.simd].waves -= 1;
        cu.simd[wave.simd].vgprs -= shape.vgprs;
        result.wave_cycles += static_cast<double>(t - wave.begin);
        end = std::max(end, t);
        if (wave.trace >= 0) result.traces[static_cast<std::size_t>(wave.trace)].end = t;
        wave.wave = nullptr;
        if (--cu.alive == 0) cu.busy_cycles += t - cu.idle_since;
        if (group.group.alive > 0) {
            release_if_all_arrived(cu, group, t);
            return;
        }
        cu.lds_used -= shape.lds;
        --cu.groups;
        free_groups.push_back(&group);
        while (try_launch(cu, t)) {}
    }

    // ---- issue ----

    void charge(std::uint32_t pc, StallReason reason, std::int64_t cycles) {
        result.times[pc].stall[static_cast<std::size_t>(reason)] += cycles;
    }

    void blame(std::uint32_t waiting, std::uint32_t producer, std::int64_t cycles) {
        auto& list = result.times[waiting].waited_for;
        for (auto& [pc, sum] : list)
            if (pc == producer) {
                sum += cycles;
                return;
            }
        list.emplace_back(producer, cycles);
    }

    /// Wait until at most `left` operations are outstanding; returns the new time.
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

    std::int64_t wait_for_counters(TimedWave& w, std::uint32_t immediate, std::int64_t t, std::uint32_t pc) {
        const std::uint32_t vm = (immediate & 0xfU) | ((immediate >> 14U) & 3U) << 4U;
        const std::uint32_t lgkm = (immediate >> 8U) & 0xfU;
        t = drain(w.local_and_scalar, lgkm, t, pc);
        return drain(w.vector_memory, vm, t, pc);
    }

    std::int64_t fetch(Cu& cu, TimedWave& w, std::uint32_t line, std::int64_t t, std::uint32_t pc) {
        if (line == w.fetch_line) return t;
        const bool sequential = line == w.fetch_line + 1;
        w.fetch_line = line;
        LineCache& cache = icaches[static_cast<std::size_t>(cu.number / 2)];
        const std::int64_t there = cache.get(line, t, 0, [&] {
            // The next line is prefetched while this one runs: straight code pays half.
            return t + (sequential ? c.icache_miss_cycles / 2 : c.icache_miss_cycles);
        });
        if (there > t) charge(pc, StallReason::instruction_fetch, there - t);
        return there;
    }

    std::int64_t dependencies(const TimedWave& w, const InstructionInfo& i, std::int64_t t, std::uint32_t pc) {
        std::int64_t ready = t;
        for (unsigned k = 0; k < i.dependency_count; ++k)
            ready = std::max(ready, w.issued[(w.issued_count - i.dependency[k].distance) % kHistory] + i.dependency[k].cycles);
        if (ready > t) charge(pc, StallReason::dependency, ready - t);
        return ready;
    }

    std::int64_t take_port(std::int64_t& port, std::int64_t t, int cycles, std::uint32_t pc, StallReason reason) {
        if (port > t) {
            charge(pc, reason, port - t);
            t = port;
        }
        port = t + cycles;
        return t;
    }

    /// Issue the next instruction of the wave in `slot`. False on a fault.
    bool issue(Cu& cu, std::size_t slot) {
        TimedWave& w = cu.waves[slot];
        Wave& wave = *w.wave;
        const std::uint32_t pc = wave.pc;
        const Instruction& instruction = wave.program->instructions[pc];
        const InstructionInfo& i = info[pc];
        const std::int64_t attempted = cu.ready.time_of(slot);
        std::int64_t t = fetch(cu, w, i.fetch_line, attempted, pc);
        if (i.dependency_count != 0) t = dependencies(w, i, t, pc);
        std::int64_t next = 4;  // cycles until the wave may issue again
        Simd& simd = cu.simd[w.simd];
        switch (i.unit) {
            case Unit::valu: case Unit::valu_half: case Unit::valu_trans: case Unit::mfma:
                t = take_port(simd.valu_free, t, 0, pc,
                              simd.long_operation ? StallReason::pipe_busy : StallReason::issue_contention);
                t = take_port(simd.issue_free, t, 4, pc, StallReason::issue_contention);
                simd.valu_free = t + i.port_cycles;
                simd.long_operation = i.port_cycles > c.valu_cycles;
                result.valu_busy += i.port_cycles;
                break;
            case Unit::smem:
                t = room_in(w.local_and_scalar, t, pc);
                t = take_port(simd.issue_free, t, 4, pc, StallReason::issue_contention);
                t = take_port(cu.smem_free, t, i.port_cycles, pc, StallReason::issue_contention);
                break;
            case Unit::lds:
                t = room_in(w.local_and_scalar, t, pc);
                // Who waits for the LDS does not keep the SIMD's other waves from issuing.
                t = take_port(simd.issue_free, t, 4, pc, StallReason::issue_contention);
                if (cu.lds_free - c.lds_issue_cycles > t) {  // one instruction waits in the LDS queue
                    charge(pc, StallReason::lds, cu.lds_free - c.lds_issue_cycles - t);
                    t = cu.lds_free - c.lds_issue_cycles;
                }
                break;
            case Unit::vmem_load: case Unit::vmem_store: case Unit::vmem_atomic: case Unit::scratch:
                t = room_in(w.vector_memory, t, pc);
                t = take_port(simd.issue_free, t, 4, pc, StallReason::issue_contention);
                t = take_memory_port(cu, t, i.port_cycles, pc);
                break;
            case Unit::waitcnt: t = wait_for_counters(w, instruction.target, t, pc); break;
            case Unit::internal: break;
            case Unit::end_program: case Unit::barrier: case Unit::branch: case Unit::salu: case Unit::message:
                t = take_port(simd.issue_free, t, 4, pc, StallReason::issue_contention);
                break;
        }
        wave.clock = static_cast<std::uint64_t>(t);
        const Step outcome = step(wave, instruction, observer);
        ++result.instructions;
        ++w.group->group.executed;
        w.issued[w.issued_count++ % kHistory] = t;
        InstructionTime& row = result.times[pc];
        row.issue += 4;
        if (w.trace >= 0) note(w, attempted, t, pc);
        switch (outcome) {
            case Step::next:
                ++wave.pc;
                if (i.unit >= Unit::smem && i.unit <= Unit::lds) after_memory(cu, w, i, wave.access, t, pc);
                if (i.unit == Unit::branch) next = c.branch_not_taken_cycles;
                if (i.unit == Unit::internal) {
                    next = std::max<std::int64_t>(4, after_internal(cu, w, i, instruction, t, pc));
                }
                cu.ready.set(slot, t + next);
                return within_limit(w, wave);
            case Step::jump:
                w.fetch_line = ~0U;
                cu.ready.set(slot, t + c.branch_taken_cycles);
                return within_limit(w, wave);
            case Step::yield:
                ++wave.pc;
                next = std::max<std::int64_t>(4, std::int64_t{instruction.target} * c.sleep_unit_cycles);
                charge(pc, StallReason::sleep, next - 4);
                cu.ready.set(slot, t + next);
                return within_limit(w, wave);
            case Step::barrier:
                ++wave.pc;
                w.arrived = t;
                w.group->last_arrival = std::max(w.group->last_arrival, t);
                w.group->group.state[w.index] = WaveState::at_barrier;
                ++w.group->group.waiting;
                cu.ready.set(slot, kNever);
                release_if_all_arrived(cu, *w.group, t);
                return true;
            case Step::end:
                w.group->group.state[w.index] = WaveState::done;
                --w.group->group.alive;
                retire(cu, slot, t + 4);
                return true;
            case Step::fault: break;
        }
        fault = TimedFault{w.group->group.number, wave.fault, pc};
        return false;
    }

    bool within_limit(const TimedWave& w, const Wave& wave) {
        if (w.group->group.executed <= limits.runaway) return true;
        Fault f;
        f.kind = FaultKind::trap;
        f.message = "runaway kernel: a workgroup executed more than " + std::to_string(limits.runaway) + " instructions";
        fault = TimedFault{w.group->group.number, f, wave.pc};
        return false;
    }

    template <std::uint32_t capacity>
    std::int64_t room_in(PendingQueue<capacity>& queue, std::int64_t t, std::uint32_t pc) {
        return queue.full() ? drain(queue, capacity - 1, t, pc) : t;
    }

    /// The CU's vector memory port. It is closed while the address unit's queue is full, which is then the reason.
    std::int64_t take_memory_port(Cu& cu, std::int64_t t, int cycles, std::uint32_t pc) {
        const std::int64_t room = cu.memory.address_free - c.address_queue_cycles;
        const std::int64_t start = std::max({t, cu.vmem_free, room});
        if (start > t) {
            const bool queue_full = room > t || cu.vmem_held;
            const auto held = queue_full ? cu.memory.held : CuMemory::Held::no;
            charge(pc, held == CuMemory::Held::atomic   ? StallReason::atomic
                       : held == CuMemory::Held::memory ? StallReason::global_memory
                       : queue_full                     ? StallReason::pipe_busy
                                                        : StallReason::issue_contention, start - t);
            if (held != CuMemory::Held::no) blame(pc, cu.memory.held_by_pc, start - t);
        }
        if (room > t) cu.vmem_held = true;
        else if (start == t) cu.vmem_held = false;
        cu.vmem_free = start + cycles;
        return start;
    }

    void release_if_all_arrived(Cu& cu, TimedGroup& group, std::int64_t t) {
        if (group.group.waiting == 0 || group.group.waiting < group.group.alive) return;
        const std::int64_t go = std::max(group.last_arrival, t) + c.barrier_cycles;
        for (const int slot : group.slots) {
            TimedWave& w = cu.waves[static_cast<std::size_t>(slot)];
            if (w.wave == nullptr || w.group != &group || group.group.state[w.index] != WaveState::at_barrier) continue;
            charge(w.wave->pc - 1, StallReason::barrier, go - w.arrived - 4 > 0 ? go - w.arrived - 4 : 0);
            cu.ready.set(static_cast<std::size_t>(slot), go);
        }
        group.group.release_barrier();
        group.last_arrival = 0;
    }

    // ---- after execution ----

    void after_memory(Cu& cu, TimedWave& w, const InstructionInfo& i, const MemoryAccess& access, std::int64_t t,
                      std::uint32_t pc) {
        const bool in_vector_queue = i.unit != Unit::smem && i.unit != Unit::lds;
        if (access.space == Space::scalar) {
            w.local_and_scalar.push({scalar_load(cu, access, t), pc, StallReason::scalar_memory});
            return;
        }
        if (access.space == Space::lds || i.unit == Unit::lds) {
            const int cycles = access.space == Space::lds ? std::max(observer.lds.cycles, c.lds_issue_cycles) : c.lds_issue_cycles;
            const std::int64_t start = std::max(t, cu.lds_free);
            cu.lds_free = start + cycles;
            result.lds_busy += cycles;
            const std::int64_t done = start + cycles - c.lds_issue_cycles +
                                      (access.space == Space::lds && access.bytes > 8 ? c.lds_wide_latency : c.lds_latency);
            w.local_and_scalar.push({done, pc, StallReason::lds});
            if (in_vector_queue) push_vector(w, {done, pc, StallReason::lds});
            return;
        }
        if (access.space == Space::scratch) {
            const int lanes = std::popcount(access.lanes);
            const std::int64_t start = std::max(t, cu.memory.address_free);
            const int cycles = std::max(4, lanes * access.bytes / c.return_bytes_per_cycle);
            cu.memory.address_free = start + cycles;
            cu.memory.busy += cycles;
            push_vector(w, {start + cycles + c.l1_latency, pc, StallReason::scratch_memory});
            return;
        }
        if (access.space != Space::global || access.lanes == 0) {
            push_vector(w, {t + c.l1_latency, pc, StallReason::global_memory});
            return;
        }
        if (t >= cu.memory.address_free) cu.memory.held = CuMemory::Held::no;
        CacheCounts& counts = result.caches[static_cast<std::size_t>(slots.slot[pc])];
        const std::int64_t start = std::max(t, cu.memory.address_free);
        const int lanes = std::popcount(access.lanes);
        std::int64_t done = 0;
        StallReason reason = StallReason::global_memory;
        switch (access.kind) {
            case AccessKind::load: done = shared.load(cu.memory, observer.lines, lanes, access.bytes, pc, start, counts); break;
            case AccessKind::store: done = shared.store(cu.memory, observer.lines, lanes, access.bytes, pc, start, counts); break;
            case AccessKind::atomic: case AccessKind::atomic_return:
                done = shared.atomic(cu.memory, observer.lines, access, pc, start, counts);
                reason = StallReason::atomic;
                break;
        }
        push_vector(w, {done, pc, reason});
    }

    void push_vector(TimedWave& w, Pending p) {
        if (w.vector_memory.size > 0) {  // results come back in order
            const auto& q = w.vector_memory;
            p.time = std::max(p.time, q.entries[(q.head + q.size - 1) % 64].time);
        }
        w.vector_memory.push(p);
    }

    std::int64_t scalar_load(Cu& cu, const MemoryAccess& access, std::int64_t t) {
        LineCache& cache = scalar_caches[static_cast<std::size_t>(cu.number / 2)];
        const auto line_bytes = static_cast<std::uint64_t>(c.scalar_line_bytes);
        const std::uint64_t first = access.address[0][0] / line_bytes;
        const std::uint64_t last = (access.address[0][0] + std::max<std::uint64_t>(access.bytes, 1) - 1) / line_bytes;
        std::int64_t done = t;
        for (std::uint64_t line = first; line <= last; ++line)
            done = std::max(done, cache.get(line, t, c.scalar_hit_cycles, [&] {
                return shared.read_line(line * line_bytes >> kLineBits, t) + c.scalar_l2_cycles - c.l2_latency;
            }));
        return done;
    }

    std::int64_t after_internal(Cu& cu, TimedWave& w, const InstructionInfo& i, const Instruction& instruction, std::int64_t t,
                                std::uint32_t pc) {
        if (i.invalidates_l1) cu.memory.l1.clear();
        if (i.invalidates_l1 || i.writes_back) {
            if (w.vector_memory.full()) drain(w.vector_memory, 63, t, pc);
            push_vector(w, {t + c.store_latency, pc, StallReason::global_memory});
            return 4;
        }
        return instruction.text.starts_with("s_nop") ? std::int64_t{instruction.target} + 4 : 4;
    }

    void note(TimedWave& w, std::int64_t attempted, std::int64_t t, std::uint32_t pc) {
        auto& steps = result.traces[static_cast<std::size_t>(w.trace)].steps;
        if (steps.size() < 20000) steps.push_back({attempted, t - attempted, t - attempted + 4, pc});
    }

    // ---- the loop ----

    bool run(std::uint64_t budget) {
        const std::uint64_t stop_at = result.instructions + budget;
        while (result.instructions < stop_at) {
            if (order.time() >= kNever) return false;
            const std::size_t first = order.which();
            order.set(first, kNever);
            const std::int64_t second = order.time();
            Cu& cu = *cus[first];
            if (!run_cu(cu, second >= kNever ? kNever : second + kQuantum)) return false;
            order.set(first, cu.ready.time());
        }
        return true;
    }

    bool run_cu(Cu& cu, std::int64_t until) {
        for (int n = 0; n < 4096; ++n) {
            const std::int64_t t = cu.ready.time();
            if (t >= kNever || t > until) return true;
            if (!issue(cu, cu.ready.which())) return false;
        }
        return true;
    }

    TimedResult finish() {
        result.covered = groups.timed_total() == 0 ? 1 : static_cast<double>(launched) / static_cast<double>(groups.timed_total());
        end = std::max(end, shared.drained());
        shared.write_back(end);
        end = std::max(end, shared.drained());
        double cycles = static_cast<double>(end);
        if (result.covered < 1)  // the steady part repeats, the tail comes once
            cycles = static_cast<double>(closed_at) / result.covered + static_cast<double>(end - closed_at);
        result.cycles = cycles;
        for (const auto& cu : cus) {
            result.busy_cu_cycles += static_cast<double>(cu->busy_cycles);
            result.vmem_busy += static_cast<double>(cu->memory.busy);
        }
        result.memory_read_bytes = shared.read_bytes();
        result.memory_write_bytes = shared.write_bytes();
        result.mall_bytes = shared.mall_bytes();
        result.l2_bytes = shared.l2_bytes();
        result.hottest_atomic_cycles = static_cast<double>(shared.hottest_atomic());
        return std::move(result);
    }
};

XcdSimulator::XcdSimulator(const TimingConstants& constants, const PreparedLaunch& launch, Memory& memory, GroupSource& groups,
                           const MemorySlots& slots, DispatchCounts& counts, MallHistory& history, TimingLimits limits)
    : model_(std::make_unique<Model>(constants, launch, memory, groups, slots, counts, history, limits)) {}

XcdSimulator::~XcdSimulator() = default;

bool XcdSimulator::run(std::uint64_t instructions) { return model_->run(instructions); }

const std::optional<TimedFault>& XcdSimulator::fault() const { return model_->fault; }

TimedResult XcdSimulator::take_result() { return model_->finish(); }

}  // namespace hipscope
