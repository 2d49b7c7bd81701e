// When an instruction issues, and what the wave waited for until then. Issue rules: a SIMD's turn comes every 4 cycles and
// takes at most one instruction of a wave and at most one of each category, from different waves: VALU (with MFMA), scalar
// (with scalar memory), vector memory, LDS, branch. s_waitcnt, s_nop and s_barrier take no place in it. One VALU pipe per SIMD;
// per CU one LDS with a way for each pair of SIMDs, one scalar memory and one vector-memory port. (AMD's description of the CDNA scheduler.)
// Who waits for the vector-memory port has it in the order of MemoryTurns, who waits for anything else in the order of asking.
#include <algorithm>

#include "engine/host_services.hpp"
#include "timing/model.hpp"

namespace hipscope {
namespace {

/// What a look at a barrier of the whole dispatch takes of a slice. Looking again does not help before the workgroups that
/// are not timed had their turn, and with one thread they have it when the slice ends.
constexpr std::uint64_t kWaitingTurn = 1000;

}  // namespace

bool XcdSimulator::Model::issue(Cu& cu, std::size_t slot) {
    const std::int64_t now = cu.ready.time_of(slot);
    return issue(cu, slot, cu.turns.first_attempt(slot, now), now, false);
}

/// `ready` has the port's time in place of a wave's: its waves have none until their turn.
bool XcdSimulator::Model::issue_to_memory(Cu& cu) {
    const std::size_t slot = cu.turns.next();
    cu.ready.set(kMemoryTurn, kNever);
    return issue(cu, slot, cu.turns.attempted[slot], cu.turns.asked[slot], true);
}

bool XcdSimulator::Model::issue(Cu& cu, std::size_t slot, std::int64_t attempted, std::int64_t now, bool has_turn) {
    TimedWave& w = cu.waves[slot];
    const std::uint32_t pc = w.pc;
    const InstructionInfo& i = info[pc];
    std::int64_t t = i.fetch_line == w.fetch_line ? now : fetch(cu, w, i.fetch_line, now, pc);
    if (i.dependency_count != 0) t = dependencies(w, i, t, pc);
    Simd& simd = cu.simd[w.simd];
    const IssueTurns turns = simd.free;
    switch (i.unit) {
        case Unit::valu: case Unit::valu_half: case Unit::valu_trans: case Unit::mfma:
            t = take_port(simd.valu_free, t, 0, pc,
                          simd.long_operation ? StallReason::pipe_busy : StallReason::issue_contention);
            simd.valu_free = t + i.port_cycles;
            simd.long_operation = i.port_cycles > c.valu_cycles;
            result.valu_busy += i.port_cycles;
            break;
        case Unit::smem:
            t = room_in(w.local_and_scalar, t, pc);
            t = take_port(simd.free.scalar, t, 4, pc, StallReason::issue_contention);
            t = take_port(cu.smem_free, t, i.port_cycles, pc, StallReason::issue_contention);
            break;
        case Unit::lds:
            t = room_in(w.local_and_scalar, t, pc);
            // Who waits for the LDS does not keep the SIMD's other waves from issuing.
            t = take_port(simd.free.lds, t, 4, pc, StallReason::issue_contention);
            if (const std::int64_t room = cu.lds_way_free[w.simd / 2] - c.lds_issue_cycles; room > t) {  // one instruction waits in the queue
                charge(pc, StallReason::lds, room - t);
                t = room;
            }
            break;
        case Unit::vmem_load: case Unit::vmem_store: case Unit::vmem_atomic: case Unit::scratch:
            t = room_in(w.vector_memory, t, pc);
            if (!has_turn && waits_for_turn(cu, slot, attempted, now, t)) return true;
            t = take_memory_port(cu, t, i.port_cycles, pc);
            break;
        case Unit::waitcnt: t = wait_for_counters(w, i.target, t, pc); break;
        case Unit::internal: case Unit::barrier: break;
        case Unit::branch:
            t = take_port(simd.free.branch, t, 4, pc, StallReason::issue_contention);
            break;
        case Unit::end_program:
            if (const std::int64_t idle = wait_for_rest(w.vector_memory, wait_for_rest(w.local_and_scalar, t)); idle > t) {
                cu.turns.attempt_again(slot, attempted);
                cu.ready.set(slot, idle);
                return true;
            }
            t = take_port(simd.free.branch, t, 4, pc, StallReason::issue_contention);
            break;
        case Unit::salu: case Unit::message:
            t = take_port(simd.free.scalar, t, 4, pc, StallReason::issue_contention);
            break;
    }
    const bool waited = w.at_grid_barrier;
    if (w.ahead.used_up()) run_ahead(cu, w, t);
    const Step outcome = next_outcome(w, i);
    ++result.instructions;
    ++w.group->executed;
    w.issued[w.issued_count++ % kHistory] = static_cast<std::uint32_t>(t);
    result.times[pc].issue += 4;
    if (w.trace >= 0) note(w, attempted, t, pc);
    if (outcome == Step::retry || waited) simd.free = turns;
    const bool barrier = i.unit == Unit::message && outcome == Step::next && launch.launch.object->code->program.instructions[pc].text.starts_with("ds_gws_barrier");
    if (barrier && !waited) w.arrived = grid_arrival(w) = std::max(grid_arrival(w), t);
    if (barrier || (outcome == Step::next && waited)) t = leave_grid_barrier(w, pc);
    if (barrier) ++w.grid_barriers;
    if (outcome != Step::next) return conclude(cu, w, slot, outcome, t, pc);
    std::int64_t next = 4;  // cycles until the wave may issue again
    if (accesses_memory(i.unit))
        complete_memory(cu, w, i, accesses_early() ? w.notes.take(touched_line, touched_parts) : touched_now(w), t, pc);
    else if (i.unit == Unit::branch) next = c.branch_not_taken_cycles;
    else if (i.unit == Unit::internal) next = complete_internal(cu, w, i, t, pc);
    if (has_turn && cu.turns.waiting != 0) cu.ready.set(kMemoryTurn, memory_port_free(cu));
    // A request reaches the host by an atomic on its ready stack.
    if (i.unit == Unit::vmem_atomic && launch.services != nullptr) launch.services->answer(0, w.group->number);
    cu.ready.set(slot, t + next);
    if (accesses_early() && !w.ahead.used_up() && (info[w.pc].unit == Unit::vmem_load || info[w.pc].unit == Unit::vmem_store))
        w.notes.first_lines([&](std::uint64_t line) { shared.prefetch(cu.memory, line); });
    return within_limit(w, pc);
}

/// Whether the wave must be attempted again, or wait for its turn at the vector memory port. Until `t` others may have the port.
bool XcdSimulator::Model::waits_for_turn(Cu& cu, std::size_t slot, std::int64_t attempted, std::int64_t now, std::int64_t t) const {
    if (t > now) {
        cu.turns.attempt_again(slot, attempted);
        cu.ready.set(slot, t);
        return true;
    }
    if (cu.turns.waiting == 0 && memory_port_free(cu) <= t) return false;
    cu.turns.wait(slot, cu.waves[slot].simd, attempted, t);
    cu.ready.set(slot, kNever);
    cu.ready.set(kMemoryTurn, std::max(memory_port_free(cu), t));
    return true;
}

/// What the access touched that was executed last.
Touched XcdSimulator::Model::touched_now(const TimedWave& w) {
    const MemoryAccess& access = w.wave->access;
    Lines& lines = observer.lines_of(access);
    lines.spell_out();
    return Touched::from(access, lines, observer.lds());
}

/// How the next instruction ended that was executed already, and where the clock goes on with the wave.
Step XcdSimulator::Model::next_outcome(TimedWave& w, const InstructionInfo& i) {
    RunAhead& a = w.ahead;
    const bool last = ++a.next == a.count;
    Step outcome = Step::next;
    if (last && !a.open) outcome = a.last;
    else if (i.unit == Unit::branch) outcome = w.branches.at(a.next_branch++) ? Step::jump : Step::next;
    else if (i.unit == Unit::barrier) outcome = Step::barrier;
    w.pc = last ? a.end : outcome == Step::jump ? i.target : w.pc + 1;
    return outcome;
}

/// A grid barrier opens when the last workgroup arrives. Those that are not timed run at the host's pace, which says nothing;
/// the timed ones arrive as late as any, so the last of them stands for all. Returns when the wave goes on.
std::int64_t XcdSimulator::Model::leave_grid_barrier(TimedWave& w, std::uint32_t pc) {
    w.at_grid_barrier = false;
    const std::int64_t go = std::max(grid_arrival(w), w.arrived) + c.barrier_cycles;
    charge(pc, StallReason::barrier, go - w.arrived);
    return go;
}

/// After an instruction that was not followed by the next one. False on a fault.
bool XcdSimulator::Model::conclude(Cu& cu, TimedWave& w, std::size_t slot, Step outcome, std::int64_t t, std::uint32_t pc) {
    TimedGroup& group = *w.group;
    switch (outcome) {
        case Step::jump:
            w.fetch_line = ~0U;
            if (!info[w.pc].starts_fetch) ++result.refetches;
            cu.ready.set(slot, t + c.branch_taken_cycles);
            return within_limit(w, pc);
        case Step::yield: {
            const std::int64_t asleep = std::max<std::int64_t>(4, std::int64_t{info[pc].target} * c.sleep_unit_cycles);
            charge(pc, StallReason::sleep, asleep - 4);
            cu.ready.set(slot, t + asleep);
            return within_limit(w, pc);
        }
        case Step::retry:  // it has not happened: waiting for other waves of the dispatch
            --result.instructions;
            result.times[pc].issue -= 4;
            waited += kWaitingTurn;
            if (!w.at_grid_barrier) {
                w.at_grid_barrier = true;
                w.arrived = t;
                grid_arrival(w) = std::max(grid_arrival(w), t);
            }
            cu.ready.set(slot, t + c.barrier_cycles);
            return within_limit(w, pc);
        case Step::barrier:
            w.arrived = t;
            w.at_barrier = true;
            group.last_arrival = std::max(group.last_arrival, t);
            ++group.waiting;
            cu.ready.set(slot, kNever);
            release_if_all_arrived(cu, group, t);
            return true;
        case Step::end:
            --group.alive;
            retire(cu, slot, t + 4);
            return true;
        case Step::next: case Step::fault: break;
    }
    fault = TimedFault{group.number, w.wave->fault, pc};
    return false;
}

void XcdSimulator::Model::report_runaway(const TimedWave& w, std::uint32_t pc) {
    Fault f;
    f.kind = FaultKind::runaway;
    f.message = "runaway kernel: a workgroup executed more than " + std::to_string(limits.runaway) + " instructions";
    fault = TimedFault{w.group->number, f, pc};
}

void XcdSimulator::Model::note(TimedWave& w, std::int64_t attempted, std::int64_t t, std::uint32_t pc) {
    auto& steps = result.traces[static_cast<std::size_t>(w.trace)].steps;
    if (steps.size() < 20000) steps.push_back({attempted, t - attempted, t - attempted + 4, pc});
}

std::int64_t XcdSimulator::Model::wait_for_counters(TimedWave& w, std::uint32_t immediate, std::int64_t t, std::uint32_t pc) {
    const std::uint32_t vm = (immediate & 0xfU) | ((immediate >> 14U) & 3U) << 4U;
    const std::uint32_t lgkm = (immediate >> 8U) & 0xfU;
    t = drain(w.local_and_scalar, lgkm, t, pc);
    return drain(w.vector_memory, vm, t, pc);
}

std::int64_t XcdSimulator::Model::fetch(Cu& cu, TimedWave& w, std::uint32_t line, std::int64_t t, std::uint32_t pc) {
    w.fetch_line = line;
    LineCache& cache = icaches[static_cast<std::size_t>(cu.sqc)];
    const std::int64_t there = cache.get(line, t, 0, [&] {
        if (line == cold_line) return t;
        cache.put(line + 1, t + c.icache_miss_cycles);  // the line behind is asked for along with it
        return t + c.icache_miss_cycles;
    });
    if (there > t) charge(pc, StallReason::instruction_fetch, there - t);
    return there;
}

std::int64_t XcdSimulator::Model::dependencies(const TimedWave& w, const InstructionInfo& i, std::int64_t t, std::uint32_t pc) {
    const auto now32 = static_cast<std::uint32_t>(t);
    std::int32_t wait = 0;
    for (unsigned k = 0; k < i.dependency_count; ++k) {
        const std::uint32_t since = now32 - w.issued[(w.issued_count - i.dependency[k].distance) % kHistory];
        if (since < i.dependency[k].cycles) wait = std::max(wait, static_cast<std::int32_t>(i.dependency[k].cycles - since));
    }
    if (wait > 0) charge(pc, StallReason::dependency, wait);
    return t + wait;
}

std::int64_t XcdSimulator::Model::take_port(std::int64_t& port, std::int64_t t, int cycles, std::uint32_t pc, StallReason reason) {
    const std::int64_t start = std::max(t, port);
    charge(pc, reason, start - t);  // adding nothing costs less than a branch that is hard to foretell
    port = start + cycles;
    return start;
}

/// The CU's vector memory port. It is closed while the address unit's queue is full, which is then the reason.
std::int64_t XcdSimulator::Model::take_memory_port(Cu& cu, std::int64_t t, int cycles, std::uint32_t pc) {
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

void XcdSimulator::Model::release_if_all_arrived(Cu& cu, TimedGroup& group, std::int64_t t) {
    if (group.waiting == 0 || group.waiting < group.alive) return;
    const std::int64_t go = std::max(group.last_arrival, t) + c.barrier_cycles;
    for (const int slot : group.slots) {
        TimedWave& w = cu.waves[static_cast<std::size_t>(slot)];
        if (w.group != &group || !w.at_barrier) continue;
        w.at_barrier = false;
        charge(w.pc - 1, StallReason::barrier, go - w.arrived - 4 > 0 ? go - w.arrived - 4 : 0);
        cu.ready.set(static_cast<std::size_t>(slot), go);
    }
    group.waiting = 0;
    group.last_arrival = 0;
}

}  // namespace hipscope
