// Workgroups onto CUs: registers, LDS and wave slots, the dispatcher's pace, and what a finished wave frees.
#include <algorithm>
#include <bit>

#include "timing/model.hpp"

namespace hipscope {
namespace {

int granules(int value, int granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

XcdSimulator::Model::Shape XcdSimulator::Model::shape_of(const TimingConstants& c, const PreparedLaunch& p) {
    return {granules(static_cast<int>(p.launch.kernel->allocated_vgprs), c.vgpr_granule),
            granules(static_cast<int>(p.lds_bytes), c.lds_granule), static_cast<int>(p.waves_per_group)};
}

int workgroups_per_cu(const TimingConstants& c, const PreparedLaunch& p) {
    const auto shape = XcdSimulator::Model::shape_of(c, p);
    const int waves_per_simd = std::min(c.max_waves_per_simd, c.vgprs_per_lane / std::max(1, shape.vgprs));
    // A workgroup's waves are spread evenly: count SIMD slots wave by wave.
    const int by_waves = waves_per_simd * c.simds_per_cu / shape.waves;
    const int by_lds = shape.lds > 0 ? c.lds_bytes / shape.lds : by_waves;
    return std::min(by_waves, by_lds);
}

/// One workgroup for each CU in turn until nothing fits any more.
void XcdSimulator::Model::place_first() {
    for (bool any = true; any && !no_more_groups;) {
        any = false;
        for (int i = 0; i < c.cus_per_xcd() && !no_more_groups; ++i) {
            if (i == static_cast<int>(cus.size())) cus.push_back(new_cu(i));
            if (i + 1 < static_cast<int>(cus.size())) cus[static_cast<std::size_t>(i) + 1]->prefetch_places(shape.waves);
            any = try_launch(*cus[static_cast<std::size_t>(i)], 0) || any;
        }
    }
    for (std::size_t i = 0; i < cus.size(); ++i) order.set(i, cus[i]->ready.time());
}

std::unique_ptr<Cu> XcdSimulator::Model::new_cu(int number) {
    auto cu = std::make_unique<Cu>(c, number, storage.empty_l1(c), now);
    if (storage.waves.empty()) {
        cu->waves.reserve(kMaxWaves);
    } else {
        cu->waves = std::move(storage.waves.back());
        storage.waves.pop_back();
    }
    return cu;
}

/// One that has ended, one of an earlier launch, or a new one.
TimedGroup* XcdSimulator::Model::new_group() {
    if (free_groups.empty()) {
        if (storage.groups.empty()) {
            pool.push_back(std::make_unique<TimedGroup>());
        } else {
            pool.push_back(std::move(storage.groups.back()));
            storage.groups.pop_back();
        }
        return pool.back().get();
    }
    TimedGroup* group = free_groups.back();
    free_groups.pop_back();
    return group;
}

std::unique_ptr<Workgroup> XcdSimulator::Model::idle_workgroup() {
    std::unique_ptr<Workgroup> workgroup;
    if (!idle.empty()) {
        workgroup = std::move(idle.back());
        idle.pop_back();
    } else if (!storage.executing.empty()) {
        workgroup = std::move(storage.executing.back());
        storage.executing.pop_back();
        workgroup->prepare(launch, memory);
    } else {
        workgroup = std::make_unique<Workgroup>(launch, memory);
    }
    return workgroup;
}

bool XcdSimulator::Model::fits(const Cu& cu) const {
    if (cu.lds_used + shape.lds > c.lds_bytes) return false;
    int room = 0;
    for (int s = 0; s < c.simds_per_cu; ++s) {
        const Simd& simd = cu.simd[s];
        const int by_registers = (c.vgprs_per_lane - simd.vgprs) / std::max(1, shape.vgprs);
        room += std::max(0, std::min(c.max_waves_per_simd - simd.waves, by_registers));
    }
    return room >= shape.waves;
}

bool XcdSimulator::Model::try_launch(Cu& cu, std::int64_t t) {
    if (no_more_groups || !fits(cu)) return false;
    if (result.instructions > limits.max_instructions && launched > 0) {
        groups.close_timed();
        no_more_groups = true;
        closed_at = t;
        executed_at_close = result.instructions;
        return false;
    }
    const auto number = groups.next_timed();
    if (!number) {
        no_more_groups = true;
        closed_at = t;
        executed_at_close = result.instructions;
        return false;
    }
    ++launched;
    TimedGroup* group = new_group();
    cu.prefetch_places(shape.waves);
    group->executing = idle_workgroup();
    Workgroup& workgroup = *group->executing;
    workgroup.start(launch, *number);
    group->number = *number;
    group->executed = 0;
    group->alive = workgroup.alive;
    group->waiting = 0;
    group->last_arrival = 0;
    group->slots.clear();
    const auto starts_after = [this](int waves) { return static_cast<std::int64_t>(c.wave_launch_cycles * waves); };
    const std::int64_t begin = dispatcher.serve(t + c.workgroup_launch_cycles, c.wave_launch_cycles * shape.waves) - starts_after(shape.waves);
    cu.lds_used += shape.lds;
    ++cu.groups;
    for (std::uint32_t i = 0; i < launch.waves_per_group; ++i)
        if (workgroup.state[i] == WaveState::ready) place(cu, *group, i, begin + starts_after(static_cast<int>(i)));
    if (accesses_early()) run_ahead(cu, *group);  // its registers are at hand: they were just written
    return true;
}

void XcdSimulator::Model::place(Cu& cu, TimedGroup& group, std::uint32_t index, std::int64_t t) {
    int best = 0;
    for (int s = 1; s < c.simds_per_cu; ++s)
        if (cu.simd[s].waves < cu.simd[best].waves) best = s;
    const auto slot = static_cast<std::size_t>(std::countr_one(cu.taken));
    cu.taken |= std::uint64_t{1} << slot;
    if (slot == cu.waves.size()) cu.waves.emplace_back();
    TimedWave& wave = cu.waves[slot];
    wave.start(group.executing->waves[index], group, index, best, t);
    wave.simd_slot = static_cast<std::uint8_t>(std::countr_one(cu.simd[best].slots));
    cu.simd[best].slots |= 1U << static_cast<unsigned>(wave.simd_slot);
    cu.simd[best].waves += 1;
    cu.simd[best].vgprs += shape.vgprs;
    cu.ready.set(slot, t);
    group.slots.push_back(static_cast<int>(slot));
    if (cu.alive++ == 0) cu.idle_since = t;
    ++result.waves;
    if (cu.number == 0 && result.traces.size() < static_cast<std::size_t>(limits.traced_waves)) {
        wave.trace = static_cast<std::int16_t>(result.traces.size());
        result.traces.push_back({cu.number, best, wave.simd_slot, t, t, {}});
    }
}

void XcdSimulator::Model::retire(Cu& cu, std::size_t slot, std::int64_t t) {
    TimedWave& wave = cu.waves[slot];
    TimedGroup& group = *wave.group;
    cu.ready.set(slot, kNever);
    cu.simd[wave.simd].slots &= ~(1U << static_cast<unsigned>(wave.simd_slot));
    cu.simd[wave.simd].waves -= 1;
    cu.simd[wave.simd].vgprs -= shape.vgprs;
    result.wave_cycles += static_cast<double>(t - wave.begin);
    end = std::max(end, t);
    if (wave.trace >= 0) result.traces[static_cast<std::size_t>(wave.trace)].end = t;
    wave.group = nullptr;
    cu.taken &= ~(std::uint64_t{1} << slot);
    if (--cu.alive == 0) cu.busy_cycles += t - cu.idle_since;
    if (group.alive > 0) {
        release_if_all_arrived(cu, group, t);
        return;
    }
    groups.end_one(group.number, group.executed);
    ++result.ended.count;
    result.ended.instructions += group.executed;
    cu.lds_used -= shape.lds;
    --cu.groups;
    free_groups.push_back(&group);
    while (try_launch(cu, t)) {}
}

}  // namespace hipscope
