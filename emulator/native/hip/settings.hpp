// The runtime's settings, read once from HIPSCOPE_* environment variables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hipscope {

struct Settings {
    std::string out, objdump, device_config, cache, sanitize;
    int threads = 1;
    std::uint64_t time_budget_ms = ~0ULL;
    std::uint64_t profile_launches = 4;  // of each kernel and launch shape, see Sampling; 0: none is timed
    std::uint64_t seed = 0;
    std::uint64_t poison = 0;                // seed of what LDS, scratch and registers hold before a launch; 0: what is there
    bool poison_inverted = false;            // the other value in every bit
    std::uint64_t max_instructions = ~0ULL;  // of one workgroup
    std::uint64_t clock_percent = 100;       // of the modelled time, what two events say lies between them
    std::uint64_t time_limit_ms = 0;         // of the process, when a kernel still runs then it faults; 0: none
    bool keep_going = false;                 // accesses out of bounds are told and left out
    std::string capture;
    std::vector<std::string> capture_kernels;  // empty: all
    std::uint64_t capture_per_shape = 1;
    std::uint64_t capture_variants = 8;
    std::uint64_t capture_max_bytes = 1ULL << 30U;
    std::uint64_t capture_all_bytes = ~0ULL;
    std::uint64_t effects_bytes = 0;  // of buffers that are looked at after launches, for capture/effects.hpp; 0: none of it

    /// Throws std::runtime_error naming the variable that is not a number.
    static Settings from_environment();
};

}  // namespace hipscope
