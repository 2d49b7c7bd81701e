// Runs a captured dispatch again, with its own code object or a changed one, on the memory that the program had.
#pragma once

#include <optional>
#include <string>

#include "capture/replay_options.hpp"
#include "engine/dispatch.hpp"

namespace hipscope {

struct ReplayOutcome {
    std::string status = "ok", message;  // ok, fault, timeout, unsupported, launch_error
    std::optional<DispatchFault> fault = {};
    std::optional<double> time_ns = {};
    double seconds = 0;  // of ours, start to end; 0 when not known
    std::uint64_t instructions = 0;  // of all waves; 0 when they were not counted
};

/// Run it and write the buffers, and what else was asked for, into `options.out`. Never throws: what goes wrong is the
/// outcome. A process has one device address range, so one replay at a time.
ReplayOutcome replay_dispatch(const ReplayOptions& options);

/// Decode the code object that `options` name for all replays that this process forks from now on. What goes wrong, a
/// replay finds as well and says so.
void prepare_code(const ReplayOptions& options);

/// Write result.json, last of all.
void write_result(const std::string& out, const ReplayOutcome& outcome);

}  // namespace hipscope
