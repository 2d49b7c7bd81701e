// What stands in device memory, kept so that a launch can be run once more on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/memory.hpp"

namespace hipscope {

/// The pages of live blocks that something was written to; the others stay untouched, which other parts ask about.
class MemoryCopy {
public:
    /// Nothing where the system does not say which pages were written to.
    static std::optional<MemoryCopy> of(const Memory& memory);
    /// Into the same blocks, which have to be live still.
    void put_back() const;

private:
    struct Run {
        std::uint64_t address, bytes;
        std::unique_ptr<std::byte[]> kept;  // null for pages that hold what they were mapped with
    };
    std::vector<Run> runs_;
};

}  // namespace hipscope
