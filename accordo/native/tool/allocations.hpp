// The device memory that the program holds: which allocation an address lies in, interior addresses included.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace hipscope::gpu {

struct Block {
    std::uint64_t address = 0, bytes = 0;
};

/// Safe to use from several threads.
class Allocations {
public:
    void add(std::uint64_t address, std::uint64_t bytes);
    /// Forget the block that starts at `address`; nothing happens when there is none.
    void remove(std::uint64_t address);
    /// The block that holds `address`; an empty block holds its own address.
    [[nodiscard]] std::optional<Block> find(std::uint64_t address) const;

private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::uint64_t> blocks_;  // start -> bytes
};

}  // namespace hipscope::gpu
