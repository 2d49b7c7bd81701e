// Why a wave did not issue: the reasons of analysis/profile.py's StallReason, with their names in the output.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hipscope {

enum class StallReason : std::uint8_t {
    global_memory, scratch_memory, scalar_memory, lds, atomic, barrier, dependency, instruction_fetch,
    issue_contention, pipe_busy, sleep, other,
};
inline constexpr int kStallReasons = 12;

inline constexpr std::array<std::string_view, kStallReasons> kStallNames{
    "global_memory", "scratch_memory", "scalar_memory", "lds", "atomic", "barrier", "dependency",
    "instruction_fetch", "issue_contention", "pipe_busy", "sleep", "other",
};

}  // namespace hipscope
