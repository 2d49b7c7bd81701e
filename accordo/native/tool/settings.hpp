// What the tools library is asked to do, from the environment of the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hipscope::gpu {

struct Settings {
    std::string directory;                    // HIPSCOPE_CAPTURE; empty: record nothing
    std::vector<std::string> kernels;         // HIPSCOPE_CAPTURE_KERNELS, mangled, split at ';'; empty: all
    std::uint64_t per_shape = 1;              // HIPSCOPE_CAPTURE_PER_SHAPE: launches of one kernel and shape
    std::uint64_t max_bytes = 1ULL << 30U;    // HIPSCOPE_CAPTURE_MAX_BYTES: memory of one launch
    std::uint64_t timeout_ms = 30'000;        // HIPSCOPE_CAPTURE_TIMEOUT_MS: for the work before a launch, and for the launch

    /// Throws std::runtime_error naming the variable that is not a number.
    static Settings from_environment();
    [[nodiscard]] bool wants(const std::string& kernel) const;
};

}  // namespace hipscope::gpu
