// Which bytes of the captured buffers a kernel reads and writes, and in which order.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "capture/meta.hpp"
#include "capture/runs.hpp"
#include "core/wave.hpp"
#include "engine/launch.hpp"
#include "sanitize/number_kinds.hpp"

namespace hipscope {

namespace access_bit {
inline constexpr std::uint8_t read_before_written = 1, written = 2, read = 4, atomic = 8;
/// The other four bits say what the last write of a byte left: a part of a float, or 0 for anything else. Of each kind there are
/// three numbers, for the instruction that wrote it: those that do, counted from the first to the last, modulo three.
inline constexpr std::uint8_t stored = 0xf0, f32 = 0x10, f64 = 0x40, f16 = 0x70, bf16 = 0xa0, next_site = 0x10, sites = 3;
}  // namespace access_bit

/// One byte of flags for each byte of each buffer.
class AccessMap {
public:
    explicit AccessMap(const std::vector<CapturedBuffer>& buffers);
    void note(const MemoryAccess& access, const sanitize::StoredKinds& stored = {});
    /// What the 16 bits at an address are, if a write that was noted left a float there.
    [[nodiscard]] sanitize::Number number_at(std::uint64_t address);
    /// All of these bytes of a buffer will be accessed.
    void populate(std::size_t buffer, std::size_t offset, std::size_t bytes);
    [[nodiscard]] std::string_view flags(std::size_t buffer) const;
    /// The blocks of a buffer with an access in them.
    [[nodiscard]] std::vector<Run> accessed(std::size_t buffer) const;

private:
    struct Flags {
        std::unique_ptr<std::uint8_t, decltype(&std::free)> bytes;  // takes memory where there are accesses only
        std::vector<bool> blocks;
    };
    void note(std::uint64_t address, std::uint64_t bytes, AccessKind kind, std::uint8_t number);
    void note_cells(const MemoryAccess& access, const sanitize::StoredKinds& stored);
    /// Whether an address lies in a buffer; `last_` is that buffer then.
    bool find(std::uint64_t address);

    std::map<std::uint64_t, std::size_t> starts_;  // buffer address -> index
    std::vector<CapturedBuffer> buffers_;
    std::vector<Flags> flags_;
    std::size_t last_ = 0;  // the buffer of the last access
};

}  // namespace hipscope
