// One replay in a child of this process: it starts at once, and a crash ends it alone.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "capture/replay_options.hpp"

namespace hipscope {

/// What a child does besides the replay.
struct ChildDuties {
    std::function<void()> begin;                   // first of all
    std::function<void(const char*)> cannot_tell;  // why there can be no result.json
};

/// How a child ended: well, otherwise, or without a result.
enum class ChildEnd { ok, not_ok, broken };

/// Start it. The child dies with the calling thread. Throws std::runtime_error.
pid_t start_replay(const ReplayOptions& options, const ChildDuties& duties);

/// What became of it, from its status (waitpid). Writes the result.json of one that crashed.
/// Throws std::runtime_error.
ChildEnd child_end(const ReplayOptions& options, int status);

/// Seconds after which a child has to be killed, which should have ended itself long before; none without a limit.
std::optional<double> most_seconds(const ReplayOptions& options);

}  // namespace hipscope
