// Counts what pools give out.
#include "hip/memory_pool.hpp"

#include <algorithm>

namespace hipscope {

MemoryPool* MemoryPools::create() {
    auto made = std::make_unique<MemoryPool>();
    MemoryPool* pool = made.get();
    made_[pool] = std::move(made);
    return pool;
}

bool MemoryPools::destroy(MemoryPool* pool) {
    if (!made_.contains(pool)) return false;
    std::erase_if(parts_, [pool](const auto& part) { return part.second.pool == pool; });
    if (current == pool) current = &standard;
    made_.erase(pool);
    return true;
}

void MemoryPools::took(MemoryPool& pool, std::uint64_t address, std::uint64_t bytes) {
    parts_[address] = {&pool, bytes};
    auto& a = pool.attributes;
    a[MemoryPool::reserved] = a[MemoryPool::used] += bytes;
    a[MemoryPool::used_high] = std::max(a[MemoryPool::used_high], a[MemoryPool::used]);
    a[MemoryPool::reserved_high] = std::max(a[MemoryPool::reserved_high], a[MemoryPool::reserved]);
}

void MemoryPools::gave_back(std::uint64_t address) {
    const auto part = parts_.find(address);
    if (part == parts_.end()) return;
    auto& a = part->second.pool->attributes;
    a[MemoryPool::reserved] = a[MemoryPool::used] -= part->second.bytes;
    parts_.erase(part);
}

}  // namespace hipscope
