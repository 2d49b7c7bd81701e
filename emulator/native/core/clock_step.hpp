// What an instruction returns that has read the wave's clock: one more way for a handler to end, beside those of Step.
#pragma once

#include "core/instruction.hpp"

namespace hipscope {

/// The clock lacks what the wave has executed in this turn: the scheduler adds it and has the instruction read again.
inline constexpr Step kReadClock = static_cast<Step>(static_cast<int>(Step::fault) + 1);

}  // namespace hipscope
