// Memory pools: what stream-ordered allocations are taken from, and how much. Nothing is held back: memory that is freed
// goes back at once, so what a pool reserves is what is in use.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

namespace hipscope {

struct MemoryPool {
    /// hipMemPoolAttr; the first three are switches (int), the others bytes.
    enum Attribute { follow_events = 1, opportunistic, internal, release_threshold, reserved, reserved_high, used, used_high };
    std::array<std::uint64_t, used_high + 1> attributes{0, 1, 1, 1};
};

class MemoryPools {
public:
    MemoryPool standard;
    MemoryPool* current = &standard;

    MemoryPool* create();
    /// False for the default pool and for what is no pool. Blocks that came from it stay until they are freed.
    bool destroy(MemoryPool* pool);
    [[nodiscard]] bool knows(MemoryPool* pool) const { return pool == &standard || made_.contains(pool); }
    void took(MemoryPool& pool, std::uint64_t address, std::uint64_t bytes);
    void gave_back(std::uint64_t address);

private:
    struct Part {
        MemoryPool* pool;
        std::uint64_t bytes;
    };
    std::map<MemoryPool*, std::unique_ptr<MemoryPool>> made_;
    std::map<std::uint64_t, Part> parts_;  // by address
};

}  // namespace hipscope
