// Command line of hipscope-replay.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace hipscope {

struct ReplayOptions {
    std::string dispatch, code_object, kernel, out, device_config, objdump = "llvm-objdump", cache, inputs, poison_mask, sanitize;
    std::optional<std::array<std::uint32_t, 3>> grid, workgroup;  // work-items, instead of the captured ones
    std::optional<std::uint32_t> dynamic_lds;
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> poison;
    bool trace_access = false, profile = false;
    double max_seconds = 0;  // 0: no limit
    int threads = 1;

    /// Throws std::runtime_error with one line about the argument that is wrong.
    static ReplayOptions parse(int argc, char** argv);
};

}  // namespace hipscope
