// Calls of libraries of which a stand-in computes on the host: how many of each there were, for the run's record.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "engine/raw_output.hpp"

namespace hipscope {

class LibraryCalls {
public:
    /// One more call of the function `name`. What was counted until now is written from time to time, as programs get killed.
    void called(const std::string& name, RawOutput& output);
    /// Write library_calls.json: the number of calls by function. Nothing when there was none.
    void write(RawOutput& output);

private:
    std::map<std::string, std::uint64_t> counts_;
    int generation_ = 0;  // of the process: what a parent called is its own
    std::chrono::steady_clock::time_point written_;
};

}  // namespace hipscope
