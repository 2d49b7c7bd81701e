// Executes timed waves. An instruction is executed when the clock reaches it, and at once those behind it for which it makes
// no difference when they run. In a kernel whose waves meet at their workgroup's barriers only, that is all of them, and the
// workgroup's other waves go along: registers and LDS are at hand now.
#include "engine/functional.hpp"
#include "timing/model.hpp"

namespace hipscope {

/// The clock is at the next instruction of `w`, which is not executed yet.
void XcdSimulator::Model::run_ahead(Cu& cu, TimedWave& w, std::int64_t t) {
    w.ahead.clear();
    w.notes.clear();
    w.wave->clock = static_cast<std::uint64_t>(t);
    execute(w, true);
    TimedGroup& group = *w.group;
    if (!group.executing->release_barrier()) {
        if (group.executing->alive == 0) idle.push_back(std::move(group.executing));
    } else if (accesses_early()) {
        run_ahead(cu, group);
    }
}

/// Execute what may come early of all waves of a workgroup. Who comes to a barrier waits for the others here as well.
void XcdSimulator::Model::run_ahead(Cu& cu, TimedGroup& group) {
    Workgroup& workgroup = *group.executing;
    do {
        for (const int slot : group.slots) {
            TimedWave& w = cu.waves[static_cast<std::size_t>(slot)];
            if (w.group != &group || workgroup.state[w.index] != WaveState::ready) continue;
            if (w.ahead.used_up()) {
                w.ahead.clear();
                w.notes.clear();
            }
            execute(w, false);
        }
    } while (workgroup.release_barrier());
    if (workgroup.alive == 0) idle.push_back(std::move(group.executing));
}

/// Go on with a wave until it comes to a barrier or to an instruction that must wait for the clock.
void XcdSimulator::Model::execute(TimedWave& w, bool at_least_one) {
    Wave& wave = *w.wave;
    RunAhead& a = w.ahead;
    const Instruction* code = launch.launch.object->code->program.instructions.data();
    const bool noted = accesses_early();
    CountedRun counted(wave, observer);
    std::uint32_t pc = wave.pc;
    bool goes_on = at_least_one || (a.room() && w.notes.room() && may_run_early(pc));
    while (goes_on) {
        const InstructionInfo& i = info[pc];
        Step outcome = counted.step(wave, code[pc], pc);
        if (outcome == kReadClock) outcome = Step::next;  // the clock was set before
        ++a.count;
        const bool jumped = outcome == Step::jump && wave.pc == i.target;  // else the code did not say where to
        if (i.unit == Unit::branch) w.branches.set(a.branches++, jumped);
        if (outcome == Step::next) {
            ++pc;
            if (noted && accesses_memory(i.unit)) {
                const MemoryAccess& access = wave.access;
                const Lines& lines = observer.lines_of(access);
                w.notes.add(Touched::from(access, lines, observer.lds()), access.run);
            }
        } else if (outcome == Step::jump) {
            pc = wave.pc;
            counted.jumped(pc);
        } else if (outcome == Step::barrier || outcome == Step::yield) {
            ++pc;
        }
        if (outcome != Step::next && !jumped) {
            a.open = outcome == Step::barrier;
            a.last = outcome;
            settle(*w.group->executing, w.index, outcome);
            break;
        }
        goes_on = a.room() && w.notes.room() && may_run_early(pc);
    }
    counted.tell(pc);
    wave.pc = a.end = pc;
}

}  // namespace hipscope
