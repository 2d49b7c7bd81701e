// Hardware counters under rocprofv3's names, worked out from exact counts and from the timed XCD.
#pragma once

#include <map>
#include <string>

#include "engine/dispatch.hpp"

namespace hipscope {

/// Sums over the dispatch. A counter that the model has no basis for is absent.
std::map<std::string, double> hardware_counters(const PreparedLaunch& launch, const DispatchResult& result,
                                                const TimingConstants& constants);

/// All waves of the dispatch divided by the timed ones: turns the timed XCD's sums into the dispatch's.
double wave_scale(const PreparedLaunch& launch, const TimedResult& timed);

/// The same for what the caches counted of one instruction: all lines that it touches divided by those of its timed waves. Waves of one XCD may
/// touch more or fewer than others in the same instructions, as those of a grid's first column do. `waves`: where no line is known.
double line_scale(const PatternCounts& all, const CacheCounts& timed, double waves);

}  // namespace hipscope
