// A captured dispatch as its meta.json describes it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/checksum.hpp"

namespace hipscope {

/// Beside the recorded files, and not needed for a replay: what the launch, or a later one like it, found in the L2 (L2Lines).
inline constexpr const char* kL2LinesFile = "l2_lines";

struct CapturedBuffer {
    std::uint64_t address = 0, bytes = 0;
};

struct CapturedGlobal {
    std::string symbol, file;
    std::uint64_t bytes = 0;
};

struct CapturedDispatch {
    std::uint64_t id = 0;
    std::string kernel;
    std::array<std::uint32_t, 3> grid{}, workgroup{};
    std::uint32_t dynamic_lds = 0;
    bool cooperative = false;
    std::uint64_t explicit_bytes = 0;
    std::vector<CapturedBuffer> buffers;
    std::vector<CapturedGlobal> globals;
    Checksums files;  // reads the contents

    /// Throws std::runtime_error naming the file.
    static CapturedDispatch read(const std::string& directory);
};

}  // namespace hipscope
