// Which bytes of the captured buffers a kernel reads and writes, and in which order.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "capture/meta.hpp"
#include "core/wave.hpp"
#include "engine/launch.hpp"

namespace hipscope {

namespace access_bit {
inline constexpr std::uint8_t read_before_written = 1, written = 2, read = 4, atomic = 8;
}  // namespace access_bit

/// One byte of flags for each byte of each buffer.
class AccessMap {
public:
    explicit AccessMap(const std::vector<CapturedBuffer>& buffers);
    void note(const MemoryAccess& access);
    [[nodiscard]] const std::vector<std::uint8_t>& flags(std::size_t buffer) const { return flags_[buffer]; }

private:
    void note(std::uint64_t address, std::uint32_t bytes, AccessKind kind);

    std::map<std::uint64_t, std::size_t> starts_;  // buffer address -> index
    std::vector<CapturedBuffer> buffers_;
    std::vector<std::vector<std::uint8_t>> flags_;
};

}  // namespace hipscope
