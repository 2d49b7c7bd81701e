// Runs workgroups without timing: wave by wave, preempted after a slice so that waves that wait for each other
// (spin locks, look-back scans) make progress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "core/clock_step.hpp"
#include "engine/counts.hpp"
#include "engine/host_services.hpp"
#include "engine/stray_access.hpp"
#include "engine/workgroup.hpp"

namespace hipscope {

/// Where the waves of one thread ask the host for something; empty when their kernel does not.
class HostLine {
public:
    HostLine(HostServices* services, int thread) : services_(services), thread_(thread) {}

    /// After a turn of a wave that executed `instructions`: answer what it has asked.
    void answer(std::uint64_t group, std::uint64_t instructions) const {
        if (services_ == nullptr) return;
        services_->realtime += 1 + instructions / 21;  // all turns add up, so that who waits by this clock does not wait long
        services_->answer(thread_, group);
    }

private:
    HostServices* services_;
    int thread_;
};

enum class GroupEnd : std::uint8_t { done, preempted, fault };

struct Schedule {
    std::uint32_t wave_slice = 4096;      // instructions of one wave before the next wave's turn
    std::uint32_t group_rounds = 64;      // turns of all waves before another workgroup's turn
    std::uint64_t seed = 0;               // not 0: shuffle the order of waves and the length of slices
    std::uint64_t max_instructions = ~0ULL;  // of one workgroup; more is a run-away kernel
};

/// Execute one instruction. Here and in CountedRun functional execution and observers meet.
template <class Observer>
inline Step step(Wave& wave, const Instruction& instruction, Observer& observer) {
    if constexpr (requires { observer.step(wave, instruction); }) {
        return observer.step(wave, instruction);  // the sanitizers: they look before and after
    } else if constexpr (Observer::active) {
        const std::uint32_t pc = wave.pc;
        if (!accesses_memory(instruction.unit)) return instruction.run(wave, instruction);
        wave.access.space = Space::none;
        const Step result = instruction.run(wave, instruction);
        if (result == Step::next) observer.accessed(pc, wave.access);
        return result;
    } else {
        return instruction.run(wave, instruction);
    }
}

/// An observer that counts takes instructions that follow each other, with the same lanes on, in one piece.
template <class Observer>
concept CountsRuns = requires(Observer observer, std::uint32_t pc, std::uint64_t exec) { observer.executed(pc, pc, exec); };

/// What a wave has executed one after the other with the same lanes on, and not yet passed to its observer.
template <CountsRuns Observer>
class CountedRun {
public:
    CountedRun(const Wave& wave, Observer& observer) : wave_(wave), observer_(observer), first_(wave.pc), exec_(wave.exec()) {}

    /// Execute the instruction at `pc`. The caller goes on behind it, or gives the target by `jumped`.
    Step step(Wave& wave, const Instruction& instruction, std::uint32_t pc) {
        Step result;
        if (accesses_memory(instruction.unit)) {
            wave.access.space = Space::none;
            result = instruction.run(wave, instruction);
            if (result == Step::next) observer_.accessed(pc, wave.access);
        } else {
            result = instruction.run(wave, instruction);
        }
        if (result == Step::next && wave.exec() == exec_) [[likely]] return result;
        if (result == Step::fault && wave.group->strays != nullptr && (result = leave_out(wave, instruction, pc)) == Step::next && accesses_memory(instruction.unit))
            observer_.accessed(pc, wave.access);
        tell(result == Step::retry ? pc : pc + 1);  // what must be tried again was not executed
        first_ = pc + 1;
        exec_ = wave.exec();
        return result;
    }
    void jumped(std::uint32_t to) { first_ = to; }
    /// All up to `end`; nothing when that was passed on already.
    void tell(std::uint32_t end) {
        if (first_ < end) observer_.executed(first_, end, exec_);
        first_ = end;
    }

private:
    const Wave& wave_;
    Observer& observer_;
    std::uint32_t first_;
    std::uint64_t exec_;
};

/// A wave that is not timed has read its clock: let the clock go on by the instructions since it did so last, and read it again.
inline void read_clock(Wave& wave, const Instruction& instruction, std::uint32_t since) {
    wave.clock += std::uint64_t{since} * wave.group->cycles_each;
    instruction.run(wave, instruction);
}

/// Go on with one wave for at most `slice` instructions. Returns next when the slice is used up.
template <class Observer>
Step run_wave(Wave& wave, std::uint32_t slice, Observer& observer, std::uint64_t& executed) {
    const Instruction* const code = wave.program->instructions.data();
    std::uint32_t done = 0, clocked = 0;  // instructions of this turn, and those that the wave's clock has
    Step result = Step::next;
    if constexpr (CountsRuns<Observer>) {
        CountedRun run(wave, observer);
        std::uint32_t pc = wave.pc;
        const Instruction* at = code + pc;
        while (done < slice) {
            result = run.step(wave, *at, pc);
            ++done;
            if (result == Step::next) [[likely]] {
                ++pc;
                ++at;
            } else if (result == Step::jump) {
                pc = wave.pc;
                at = code + pc;
                run.jumped(pc);
            } else if (result == kReadClock) {
                read_clock(wave, *at, done - clocked);
                clocked = done;
                result = Step::next;
                ++pc;
                ++at;
            } else {
                break;
            }
        }
        if (result == Step::next) run.tell(pc);
        wave.pc = pc;
    } else {
        const Instruction* at = code + wave.pc;
        [[maybe_unused]] std::uint32_t looked = 0;
        while (done < slice) {
            if constexpr (requires { observer.step_ahead(wave, slice); }) {
                if (done >= looked) {  // several that need no look at each
                    wave.pc = static_cast<std::uint32_t>(at - code);
                    const auto ahead = observer.step_ahead(wave, slice - done);
                    at += ahead.executed;
                    done += ahead.executed;
                    looked = done + ahead.looked;
                    if (ahead.executed != 0) continue;
                }
            }
            if constexpr (Observer::active) wave.pc = static_cast<std::uint32_t>(at - code);  // not read elsewhere while it runs
            result = step(wave, *at, observer);
            ++done;
            if (result == Step::next) [[likely]] {
                ++at;
            } else if (result == Step::jump) {
                at = code + wave.pc;
            } else if (result == kReadClock) {
                read_clock(wave, *at, done - clocked);
                clocked = done;
                result = Step::next;
                ++at;
            } else if (result == Step::fault && wave.group->strays != nullptr && leave_out(wave, *at, static_cast<std::uint32_t>(at - code)) == Step::next) {
                result = Step::next;
                ++at;
            } else {
                break;
            }
        }
        wave.pc = static_cast<std::uint32_t>(at - code);
    }
    if (result == Step::jump) result = Step::next;
    executed += done;
    wave.clock += std::uint64_t{done - clocked} * wave.group->cycles_each;
    if (result != Step::next && result != Step::fault && result != Step::retry) ++wave.pc;
    return result;
}

/// Record that a wave left the running state. False on a fault.
inline bool settle(Workgroup& group, std::size_t wave, Step result) {
    switch (result) {
        case Step::barrier:
            group.state[wave] = WaveState::at_barrier;
            ++group.waiting;
            return true;
        case Step::end:
            group.state[wave] = WaveState::done;
            --group.alive;
            return true;
        case Step::fault: return false;
        default: return true;
    }
}

/// Run a workgroup until it ends, faults (`faulted` says which wave) or has used its turns.
template <class Observer>
GroupEnd run_group(Workgroup& group, const Schedule& schedule, Observer& observer, const HostLine& host, std::size_t& faulted) {
    std::size_t order[kMaxWavesPerGroup];
    const std::size_t count = group.waves.size();
    std::uint64_t random = schedule.seed ^ (group.number * 0x9e3779b97f4a7c15ULL) ^ group.executed;
    const auto next_random = [&random] {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::uint32_t>(random >> 33U);
    };
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    for (std::uint32_t round = 0; round < schedule.group_rounds; ++round) {
        if (schedule.seed != 0)
            for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[next_random() % i]);
        for (const std::size_t i : std::span(order, count)) {
            if (group.state[i] != WaveState::ready) continue;
            if constexpr (requires { observer.held(group, i); })
                if (observer.held(group, i)) continue;
            const std::uint32_t slice = schedule.seed == 0 ? schedule.wave_slice : 1 + next_random() % 64;
            const std::uint64_t before = group.executed;
            const Step left = run_wave(group.waves[i], slice, observer, group.executed);
            host.answer(group.number, group.executed - before);
            if (!settle(group, i, left)) {
                faulted = i;
                return GroupEnd::fault;
            }
        }
        if (group.alive == 0) return GroupEnd::done;
        if constexpr (requires { observer.barrier_released(group); })
            if (group.barrier_complete()) observer.barrier_released(group);
        group.release_barrier();
        if constexpr (requires { observer.stuck(group); })
            if (observer.stuck(group)) return GroupEnd::preempted;
        if (group.executed > schedule.max_instructions) {
            faulted = order[0];
            for (const std::size_t i : std::span(order, count))
                if (group.state[i] == WaveState::ready) faulted = i;
            Fault& fault = group.waves[faulted].fault;
            fault.kind = FaultKind::runaway;
            fault.message = "runaway kernel: a workgroup executed more than " +
                            std::to_string(schedule.max_instructions) + " instructions";
            return GroupEnd::fault;
        }
    }
    return GroupEnd::preempted;
}

}  // namespace hipscope
