// Kinds of memory: how HIP was asked for it says who may look at it while a kernel runs, and where it lives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hipscope {

enum class MemoryKind : std::uint8_t { device, managed, host, host_noncoherent, fine_grained, uncached };
inline constexpr std::size_t kMemoryKinds = 6;

/// Where memory of another kind than plain device memory lies.
struct KindRange {
    std::uint64_t begin = 0, end = 0;
    MemoryKind kind = MemoryKind::device;
};

}  // namespace hipscope
