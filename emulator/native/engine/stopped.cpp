// Compares instruction mixes: workgroups that stopped half-way did too much of what comes first in the kernel. Where many of those that
// were timed did, and few of the others, the times of each instruction are multiplied up to its share in the latter.
#include "engine/stopped.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

namespace hipscope {
namespace {

constexpr double kMostlyWhole = 0.97;  // of what was executed: by workgroups that came to their ends
constexpr std::uint64_t kEnoughGroups = 16;  // that ended without timing, for their mix to be that of all
constexpr double kReached = 0.98;      // of what whole workgroups execute: by the timed ones, too
constexpr double kLikeWhole = 0.5;     // of the instructions: in the same places in both parts
constexpr double kLeastWay = 0.5;      // of a whole workgroup's instructions that the timed ones have done, on average
constexpr double kMostBeyond = 0.25;   // of what was timed: by workgroups that are longer than those that ended
constexpr double kIssueCycles = 4;

double sum(const DispatchCounts& counts) {
    double all = 0;
    for (const ExecutionCounts& at : counts.executions) all += static_cast<double>(at.hits);
    return all;
}

bool mostly(std::uint64_t of_whole, double all) { return all > 0 && static_cast<double>(of_whole) >= kMostlyWhole * all; }

/// Of each instruction: its share in whole workgroups as a multiple of that in the timed part, 0 where it was not timed.
struct Weights {
    std::vector<double> of;
    double reached = 0, like = 0;

    Weights(const TimedResult& result, const DispatchCounts& whole, double sum_whole) {
        for (std::size_t i = 0; i < result.times.size(); ++i) {
            const double share = static_cast<double>(whole.executions[i].hits) / sum_whole;
            const double timed = static_cast<double>(result.times[i].issue) / kIssueCycles / static_cast<double>(result.instructions);
            of.push_back(timed > 0 ? share / timed : 0);
            like += std::min(share, timed);
            if (timed > 0) reached += share;
        }
    }
};

/// By how much a sum of some instructions becomes more or less.
struct Change {
    double before = 0, after = 0;

    void add(double value, double weight) {
        before += value;
        after += value * weight;
    }
    template <class Value>
    void to(Value& value) const {
        if (before > 0) value = static_cast<Value>(static_cast<double>(value) * after / before);
    }
};

void weigh(TimedResult& result, const Program& program, const Weights& weights) {
    const MemorySlots slots(program);
    Change all, valu, lds, vmem, atomic, lines;
    const auto times = [](auto& value, double weight) { value = static_cast<std::remove_reference_t<decltype(value)>>(static_cast<double>(value) * weight); };
    for (std::size_t i = 0; i < result.times.size(); ++i) {
        InstructionTime& at = result.times[i];
        const double weight = weights.of[i], issue = static_cast<double>(at.issue);
        all.add(issue + static_cast<double>(std::accumulate(std::begin(at.stall), std::end(at.stall), std::int64_t{0})), weight);
        const Unit unit = program.instructions[i].unit;
        if (unit == Unit::valu || unit == Unit::valu_half || unit == Unit::valu_trans || unit == Unit::mfma) valu.add(issue, weight);
        if (unit == Unit::lds) lds.add(issue, weight);
        if (unit == Unit::vmem_load || unit == Unit::vmem_store || unit == Unit::vmem_atomic || unit == Unit::scratch) vmem.add(issue, weight);
        if (unit == Unit::vmem_atomic) atomic.add(issue, weight);
        times(at.issue, weight);
        for (std::int64_t& stall : at.stall) times(stall, weight);
        for (auto& [producer, cycles] : at.waited_for) times(cycles, weight);
        if (slots.slot[i] < 0) continue;
        CacheCounts& cache = result.caches[static_cast<std::size_t>(slots.slot[i])];
        lines.add(static_cast<double>(cache.lines), weight);
        for (std::uint64_t* count : {&cache.lines, &cache.l1_hits, &cache.l2_hits, &cache.memory_lines, &cache.requests}) times(*count, weight);
    }
    for (double* cycles : {&result.cycles, &result.wave_cycles, &result.busy_cu_cycles, &result.waves_end}) all.to(*cycles);
    for (double* level : {&result.level_vmem, &result.level_smem, &result.level_lds}) all.to(*level);
    valu.to(result.valu_busy);
    lds.to(result.lds_busy);
    vmem.to(result.vmem_busy);
    atomic.to(result.hottest_atomic_cycles);
    L2Counts& l2 = result.l2;
    for (std::uint64_t* count : {&l2.read_hits, &l2.read_misses, &l2.write_hits, &l2.write_misses, &l2.atomic_hits, &l2.atomic_misses,
                                 &l2.scalar_reads, &l2.fabric_reads_128, &l2.fabric_reads_64, &l2.fabric_writes_64,
                                 &l2.fabric_writes_32, &l2.evicted_lines, &l2.written_back_lines})
        lines.to(*count);
    for (double* amount : {&l2.fabric_read_cycles, &l2.hbm_read_bytes, &l2.hbm_write_bytes, &l2.mall_bytes}) lines.to(*amount);
}

/// Gives the timed part the mix of the workgroups without timing, where it is not of whole ones itself. False where it cannot.
bool weighed(const EndedGroups& whole, TimedResult& result, const Program& program, const DispatchCounts& untimed, double without) {
    if (result.ended.count == result.started || whole.count - result.ended.count < kEnoughGroups) return false;
    if (!mostly(whole.instructions - result.ended.instructions, without)) return false;
    const Weights weights(result, untimed, without);
    const double way = static_cast<double>(result.instructions) / (whole.each() * static_cast<double>(result.started));
    if (result.ended.count == 0 || way < kLeastWay) return false;
    if (weights.reached < kReached || weights.like < kLikeWhole) return false;
    weigh(result, program, weights);
    return true;
}

}  // namespace

bool extrapolate(const GroupSource& groups, const Program& program, TimedResult& result, const DispatchCounts& untimed,
                 DispatchCounts& timed) {
    const EndedGroups whole = groups.whole();
    const double without = sum(untimed), with = sum(timed), executed = static_cast<double>(result.instructions);
    if (whole.count == 0 || executed == 0 || result.beyond > kMostBeyond * executed) return false;
    const double all = whole.each() * static_cast<double>(groups.count());
    if (weighed(whole, result, program, untimed, without)) {
        timed = untimed;
        timed.scale(all / without);
        return true;
    }
    if (!mostly(result.ended.instructions, with)) return false;
    const bool both = mostly(whole.instructions, without + with);
    if (both) timed.add(untimed);
    timed.scale(all / (both ? without + with : with));
    return true;
}

}  // namespace hipscope
