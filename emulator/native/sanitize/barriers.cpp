// Barriers that not all work-items of a workgroup reach together.
#include <bit>

#include "sanitize/sanitizer.hpp"

namespace hipscope::sanitize {

/// A wave is about to wait. EXEC must be what it was when the wave began.
void Sanitizer::reached_barrier(const Wave& wave) {
    WaveRecord& r = record(*wave.group).waves[wave.id_in_group];
    r.last_pc = wave.pc;
    const std::uint64_t missing = r.lanes & ~wave.exec();
    if (missing == 0 || reports_.again(Defect::barrier, wave.pc)) return;
    Case found;
    found.defect = Defect::barrier;
    found.at = place(wave, std::countr_zero(missing));
    found.message = std::to_string(std::popcount(missing)) + " of the " + std::to_string(std::popcount(r.lanes)) +
                    " lanes of the wave do not reach this barrier";
    reports_.add(std::move(found));
}

/// All waves that have not ended wait: they must wait at one barrier. Those that have ended as a whole are not missed there: the hardware
/// counts the waves that are left (CDNA3 ISA, s_barrier: a wave that has ended satisfies the barrier).
void Sanitizer::barrier_released(Workgroup& group) {
    GroupRecord& r = record(group);
    if (checks_.races || checks_.stale) races_.barrier(r.order, group);
    if (checks_.wave_order) r.lanes.barrier();
    if (!checks_.barriers) return;
    std::size_t first = group.waves.size();
    for (std::size_t i = 0; i < group.waves.size() && first == group.waves.size(); ++i)
        if (group.state[i] == WaveState::at_barrier) first = i;
    if (first == group.waves.size()) return;
    for (std::size_t i = 0; i < group.waves.size(); ++i) {
        if (group.state[i] != WaveState::at_barrier || r.waves[i].last_pc == r.waves[first].last_pc) continue;
        if (reports_.again(Defect::barrier, r.waves[first].last_pc, r.waves[i].last_pc)) continue;
        Case found;
        found.defect = Defect::barrier;
        found.at = {r.waves[first].last_pc, group.number, static_cast<std::uint32_t>(first), -1};
        found.other = Place{r.waves[i].last_pc, group.number, static_cast<std::uint32_t>(i), -1};
        found.message = "wave " + std::to_string(first) + " of the workgroup waits at this barrier while wave " + std::to_string(i) +
                        " waits at another one";
        reports_.add(std::move(found));
    }
}

}  // namespace hipscope::sanitize
