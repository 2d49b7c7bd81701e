// An ordered map of disjoint blocks.
#include "tool/allocations.hpp"

#include <algorithm>

namespace hipscope::gpu {

void Allocations::add(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    blocks_[address] = bytes;
}

void Allocations::remove(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    blocks_.erase(address);
}

std::optional<Block> Allocations::find(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return std::nullopt;
    const auto& [start, bytes] = *--after;
    if (address - start >= std::max<std::uint64_t>(bytes, 1)) return std::nullopt;
    return Block{start, bytes};
}

}  // namespace hipscope::gpu
