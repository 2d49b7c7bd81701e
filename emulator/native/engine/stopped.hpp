// A launch that the program's deadline stopped: whether what ran of it stands for all of it, and what that comes to.
#pragma once

#include "engine/counts.hpp"
#include "engine/groups.hpp"
#include "timing/xcd.hpp"

namespace hipscope {

/// `untimed`, `timed`: what was counted of the workgroups without and with timing (summed up). Makes `timed` the counts of all
/// workgroups, and `result` that of waves that execute what whole workgroups do. False, and nothing is changed, where the timed part
/// is not like whole workgroups.
bool extrapolate(const GroupSource& groups, const Program& program, TimedResult& result, const DispatchCounts& untimed,
                 DispatchCounts& timed);

}  // namespace hipscope
