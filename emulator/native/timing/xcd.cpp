// The event loop: the CU that is furthest behind runs a quantum; in a CU the wave that can issue first issues next.
#include "timing/xcd.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "timing/model.hpp"

namespace hipscope {
namespace {

constexpr std::size_t kKeptGroup = 64U << 10U;  // bytes; larger workgroups have enough to do
constexpr std::int64_t kQuantum = 256;  // cycles a CU may run ahead of the slowest one

/// On gfx90a a wave may also wait for another one of its workgroup by a plain load.
unsigned what_may_run_early(const TimedLaunch& timed) {
    const Launch& launch = timed.launch.launch;
    const Program& program = launch.object->code->program;
    const bool scopes_told = launch.object->arch != "gfx90a" || timed.launch.waves_per_group == 1;
    unsigned early = InstructionInfo::alone;
    if (timed.launch.services != nullptr || !scopes_told) return early;
    if (waves_communicate(program, timed.info, launch.kernel->entry, launch.kernel->code_end)) return early;
    early |= InstructionInfo::plain_access;
    if (!waves_meet_in_lds(program, timed.info, launch.kernel->entry, launch.kernel->code_end)) early |= InstructionInfo::plain_lds;
    return early;
}

unsigned l1_block_bits(const TimingConstants& c) {
    return std::min(kLineBits, static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(c.l1_block_bytes))));
}

}  // namespace

XcdSimulator::Model::Model(const TimedLaunch& timed, DispatchCounts& counts, TimingLimits limit)
    : c(timed.constants),
      launch(timed.launch),
      memory(timed.memory),
      groups(timed.groups),
      observer(timed.slots, counts, timed.constants.lds_rows, timed.launch.kinds, nullptr, nullptr, l1_block_bits(timed.constants)),
      slots(timed.slots),
      limits(limit),
      info(timed.info),
      shape(shape_of(timed.constants, timed.launch)),
      early(what_may_run_early(timed)),
      storage(timed.storage.parts()),
      shared(timed.constants, timed.history, storage.l2_at_launch(timed.constants, timed.written, timed.l2_lines), storage.l2_clock,
             static_cast<int>(std::min<std::uint64_t>(static_cast<unsigned>(timed.constants.xcds), timed.launch.group_count)), now) {
    result.times.resize(info.size());
    result.caches.resize(slots.count);
    result.occupancy = static_cast<double>(workgroups_per_cu(c, launch) * shape.waves) / c.simds_per_cu;
    for (int i = 0; i < c.sqcs_per_xcd; ++i) {
        icaches.emplace_back(c.icache_bytes, c.icache_line_bytes);
        scalar_caches.emplace_back(c.scalar_cache_bytes, c.scalar_line_bytes);
    }
    fill_instruction_caches(timed.code_is_cold);
    place_first();
}

/// A kernel boundary leaves the instruction caches as they are: counters of MI300X and MI300A show one miss for each cache in
/// a kernel's first launch and none in later ones. The miss of the first launch is counted and takes no time: 0.3 to 0.5 us
/// on the hardware, which say nothing about the kernel. Of code that does not fit, the last part is there.
void XcdSimulator::Model::fill_instruction_caches(bool first_launch) {
    const auto lines = static_cast<std::size_t>(c.icache_bytes / c.icache_line_bytes);
    std::vector<std::uint32_t> code;
    for (const Instruction& instruction : code_of(launch.launch)) {
        const auto line = static_cast<std::uint32_t>(instruction.address / static_cast<unsigned>(c.icache_line_bytes));
        if (code.empty() || code.back() != line) code.push_back(line);
    }
    const std::size_t left_out = code.size() - std::min(code.size(), lines);
    if (first_launch) cold_line = launch.launch.kernel->entry / static_cast<unsigned>(c.icache_line_bytes);
    for (LineCache& cache : icaches)
        for (std::size_t i = left_out; i < code.size(); ++i)
            if (code[i] != cold_line) cache.put(code[i], 0);
}

XcdSimulator::Model::~Model() {
    for (const auto& cu : cus) {
        for (TimedWave& wave : cu->waves) wave.group = nullptr;
        storage.waves.push_back(std::move(cu->waves));
        storage.l1.push_back(std::move(cu->memory.l1));
    }
    for (auto& group : pool) {
        if (group->executing != nullptr) idle.push_back(std::move(group->executing));
        storage.groups.push_back(std::move(group));
    }
    for (auto& workgroup : idle)
        if (workgroup->bytes() <= kKeptGroup) storage.executing.push_back(std::move(workgroup));
}

bool XcdSimulator::Model::run(std::uint64_t budget) {
    const std::uint64_t stop_at = result.instructions + waited + budget;
    while (result.instructions + waited < stop_at) {
        if (order.time() >= kNever) return false;
        now = order.time();
        const std::size_t first = order.which();
        order.set(first, kNever);
        const std::int64_t second = order.time();
        Cu& cu = *cus[first];
        if (second < kNever) cus[order.which()]->prefetch(second + kQuantum);
        if (!run_cu(cu, second >= kNever ? kNever : second + kQuantum)) return false;
        order.set(first, cu.ready.time());
    }
    return true;
}

bool XcdSimulator::Model::run_cu(Cu& cu, std::int64_t until) {
    for (int n = 0; n < 4096; ++n) {
        const std::int64_t t = cu.ready.time();
        if (t >= kNever || t > until) return true;
        const std::size_t slot = cu.ready.which();
        if (!(slot == kMemoryTurn ? issue_to_memory(cu) : issue(cu, slot))) return false;
    }
    return true;
}

/// The launch goes no further: what running workgroups did counts by their instructions. A running one has at least as many as
/// a whole one, or as it has executed already.
void XcdSimulator::Model::stop(const EndedGroups& whole) {
    end = closed_at = std::max(end, now);
    executed_at_close = result.instructions;
    std::set<const TimedGroup*> running;
    for (const auto& cu : cus) {
        if (cu->alive > 0) cu->busy_cycles += std::max<std::int64_t>(0, end - cu->idle_since);
        for (const TimedWave& wave : cu->waves) {
            if (wave.group == nullptr) continue;
            running.insert(wave.group);
            const std::int64_t until = std::max(wave.begin, end);
            result.wave_cycles += static_cast<double>(until - wave.begin);
            if (wave.trace >= 0) result.traces[static_cast<std::size_t>(wave.trace)].end = until;
        }
    }
    double sum = static_cast<double>(whole.instructions);
    for (const TimedGroup* group : running) {
        const auto executed = static_cast<double>(group->executed);
        sum += std::max(whole.each(), executed);
        result.beyond += std::max(0.0, executed - whole.each());
    }
    const double each = sum / static_cast<double>(whole.count + running.size());
    const double done = static_cast<double>(result.instructions) / each;  // workgroups
    result.covered = std::min(1.0, done / static_cast<double>(groups.timed_total()));
    result.waves = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(done * launch.waves_per_group)));
}

/// All of the work at the pace up to the last start, and what the waves that ran then took longer than that pace.
double XcdSimulator::Model::extrapolated_cycles() const {
    const double at_close = result.covered * static_cast<double>(executed_at_close) / static_cast<double>(result.instructions);
    const double all = static_cast<double>(closed_at) / at_close;
    return all + std::max(0.0, static_cast<double>(end - closed_at) - all * (result.covered - at_close));
}

TimedResult XcdSimulator::Model::finish(const EndedGroups& whole) {
    observer.add_up();
    result.started = launched;
    result.covered = groups.timed_total() == 0 ? 1 : static_cast<double>(launched) / static_cast<double>(groups.timed_total());
    if (const auto all = static_cast<double>(groups.work().of(groups.xcd())); result.covered < 1 && all > 0)
        result.covered = std::min(1.0, static_cast<double>(result.ended.instructions) / all);
    if (order.time() < kNever && whole.count > 0) stop(whole);
    result.waves_end = static_cast<double>(end);
    end = std::max(end, shared.drained());
    shared.write_back(end);
    end = std::max(end, shared.drained());
    result.cycles = result.covered < 1 ? extrapolated_cycles() : static_cast<double>(end);
    for (const auto& cu : cus) {
        result.busy_cu_cycles += static_cast<double>(cu->busy_cycles);
        result.vmem_busy += static_cast<double>(cu->memory.busy);
    }
    for (const LineCache& cache : icaches) result.icache.add(cache.counts());
    for (const LineCache& cache : scalar_caches) result.scalar_cache.add(cache.counts());
    result.l2 = shared.counts();
    result.hottest_atomic_cycles = static_cast<double>(shared.hottest_atomic());
    return std::move(result);
}

TimingStorage::TimingStorage() : parts_(std::make_unique<Parts>()) {}

TimingStorage::~TimingStorage() = default;

L2Lines TimingStorage::l2_lines(const TimingConstants& constants, const WrittenLines& written) {
    return lines_of(parts_->l2_at_launch(constants, &written, nullptr));
}

XcdSimulator::XcdSimulator(const TimedLaunch& timed, DispatchCounts& counts, TimingLimits limits)
    : model_(std::make_unique<Model>(timed, counts, limits)) {}

XcdSimulator::~XcdSimulator() = default;

bool XcdSimulator::run(std::uint64_t instructions) { return model_->run(instructions); }

const std::optional<TimedFault>& XcdSimulator::fault() const { return model_->fault; }

std::vector<Rest> XcdSimulator::rest() {
    std::vector<Rest> rest;
    for (const auto& cu : model_->cus) {
        if (cu == nullptr) continue;
        for (TimedWave& w : cu->waves) {
            if (w.group == nullptr) continue;
            const bool waits = w.at_barrier || w.at_grid_barrier;
            if (w.wave != nullptr && !waits) rest.push_back({w.group->executed / w.group->slots.size(), goes_round(*w.wave)});
        }
    }
    return rest;
}

TimedResult XcdSimulator::take_result(const EndedGroups& whole) { return model_->finish(whole); }

}  // namespace hipscope
