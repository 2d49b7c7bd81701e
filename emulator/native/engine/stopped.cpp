// Compares instruction mixes: workgroups that stopped half-way count too much of what comes first in the kernel.
#include "engine/stopped.hpp"

#include <algorithm>

namespace hipscope {
namespace {

constexpr double kMostlyWhole = 0.75;  // of what was executed: by workgroups that came to their ends
constexpr double kLikeWhole = 0.8;     // of the instructions: in the same places in both parts
constexpr double kAlmostWhole = 0.98;  // the same, where no timed workgroup ended: all that is missing are steps at the kernel's end
constexpr double kLeastWay = 0.25;     // of a whole workgroup's instructions that those have done by then, on average
constexpr double kMostBeyond = 0.25;   // of what was timed: by workgroups that are longer than those that ended

double sum(const DispatchCounts& counts) {
    double all = 0;
    for (const ExecutionCounts& at : counts.executions) all += static_cast<double>(at.hits);
    return all;
}

/// The share of two parts' instructions that are the same ones.
double likeness(const DispatchCounts& a, double sum_a, const DispatchCounts& b, double sum_b) {
    double common = 0;
    for (std::size_t i = 0; i < a.executions.size(); ++i)
        common += std::min(static_cast<double>(a.executions[i].hits) / sum_a, static_cast<double>(b.executions[i].hits) / sum_b);
    return common;
}

bool mostly(std::uint64_t of_whole, double all) { return all > 0 && static_cast<double>(of_whole) >= kMostlyWhole * all; }

/// Whether the part that was timed is like whole workgroups.
bool is_like_whole(const EndedGroups& whole, const TimedResult& result, const DispatchCounts& untimed, double without,
                   const DispatchCounts& timed, double with) {
    const auto executed = static_cast<double>(result.instructions);
    if (result.beyond > kMostBeyond * executed) return false;
    if (result.ended.count > 0 && mostly(whole.instructions, without + with)) return true;
    const bool either = mostly(whole.instructions - result.ended.instructions, without) || mostly(result.ended.instructions, with);
    if (!either || without == 0) return false;
    const double like = likeness(untimed, without, timed, with);
    if (result.ended.count > 0) return like >= kLikeWhole;
    return like >= kAlmostWhole && executed >= kLeastWay * whole.each() * static_cast<double>(result.started);
}

}  // namespace

std::optional<double> factor_to_all(const GroupSource& groups, const TimedResult& result, const DispatchCounts& untimed,
                                    const DispatchCounts& timed) {
    const EndedGroups whole = groups.whole();
    const double without = sum(untimed), with = sum(timed);
    if (whole.count == 0 || with == 0 || !is_like_whole(whole, result, untimed, without, timed, with)) return std::nullopt;
    return whole.each() * static_cast<double>(groups.count()) / (without + with);
}

}  // namespace hipscope
