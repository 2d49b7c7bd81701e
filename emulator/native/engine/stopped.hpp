// A launch that the program's deadline stopped: whether what ran of it stands for all of it, and by how much it has to be multiplied.
#pragma once

#include <optional>

#include "engine/counts.hpp"
#include "engine/groups.hpp"
#include "timing/xcd.hpp"

namespace hipscope {

/// `untimed`, `timed`: what was counted of the workgroups without and with timing (summed up). The result is the factor from both to
/// all workgroups, or nothing where the timed part is not like whole workgroups.
std::optional<double> factor_to_all(const GroupSource& groups, const TimedResult& result, const DispatchCounts& untimed,
                                    const DispatchCounts& timed);

}  // namespace hipscope
