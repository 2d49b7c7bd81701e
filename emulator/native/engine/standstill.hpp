// Whether waves go round in loops that change nothing: of a launch that the deadline stopped, what tells a runaway from a long one.
#pragma once

#include "engine/workgroup.hpp"

namespace hipscope {

/// How far one of those had come that did not end: instructions of each wave, and whether it goes round.
struct Rest {
    std::uint64_t longest = 0;
    bool goes_round = false;
};

/// True when the wave comes back to where it is with all registers as they are, and stores nothing on the way: it only waits for
/// others. It is executed for that, so that the launch can't go on afterwards.
bool goes_round(Wave& wave);

/// The same of all waves of the workgroup that don't wait at its barrier.
bool goes_round(Workgroup& group);

}  // namespace hipscope
