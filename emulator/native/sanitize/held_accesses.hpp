// Accesses that need no notes yet. Loads of memory without stores do not conflict with each other, and neither do atomic
// operations on what is accessed in no other way, nor stores to LDS each word of which is stored to once. They are put down
// as they come, and noted for their words only at an access of another kind to their memory. Most never are: a
// barrier, or the end of the dispatch, ends their time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/memory.hpp"
#include "sanitize/lanes.hpp"

namespace hipscope::sanitize {

/// How a page of memory has been accessed in its time, which begins with a segment.
enum class Usage : std::uint8_t { stores, loads, atomics, mixed };

/// An access as it is kept. What it touched follows: pieces, or offsets from `lowest` of all lanes, and unless it is a load
/// what it left: that of all pieces, or for each address one word of all lanes after the other.
struct Held {
    std::uint64_t bits;   // Trace, but for lanes and mask
    std::uint64_t lanes;
    std::uint64_t lowest;
    std::uint32_t size;   // with what follows, in bytes
    std::uint8_t pieces;  // 0: by lanes
    std::uint8_t bytes, addresses;
    AccessKind kind;
};

/// Words of LDS that have been stored to.
class StoredWords {
public:
    /// None of LDS of that size.
    void start(std::uint32_t bytes);
    void clear() { std::fill(bits_.begin(), bits_.end(), 0); }
    /// Adds the words of a store. False when one of them was there.
    bool add(const MemoryAccess& made, const Shape& shape);

private:
    std::vector<std::uint64_t> bits_;
};

/// Accesses in the order in which they were made.
class HeldAccesses {
public:
    [[nodiscard]] bool empty() const { return used_ == 0; }
    void clear() { used_ = 0; }
    /// Keeps an access. Unless it is a load, its words lie at `content` and their addresses. False when there is no room.
    bool keep(const MemoryAccess& made, const Shape& shape, std::uint64_t bits, std::uint64_t content);
    /// Calls `note(held, what follows)` for each and forgets them.
    template <class Note>
    void give_up(Note note) {
        for (std::size_t at = 0; at < used_;) {
            const auto* held = reinterpret_cast<const Held*>(room_.get() + at);  // NOLINT
            note(*held, room_.get() + at + sizeof(Held));
            at += held->size;
        }
        used_ = 0;
    }

private:
    static constexpr std::size_t first_ = 64U << 10U, most_ = 32U << 20U;  // bytes

    [[nodiscard]] bool grow(std::size_t size);

    std::unique_ptr<std::byte[]> room_;
    std::size_t used_ = 0, bytes_ = 0;
};

/// The usages of pages that follow each other.
struct Usages {
    std::uint64_t* page;
    unsigned page_bits;
    std::uint64_t start, bytes;  // of their memory

    /// What an access finds.
    struct Found {
        bool alone = true;   // all of it lies in this memory and has been used in that way alone, if at all
        bool held = false;   // some may be in accesses that are held
    };
    /// Notes that an access uses memory in this way since `base`.
    [[nodiscard]] Found use(const MemoryAccess& made, std::uint64_t lanes, const Shape& shape, Usage as, std::uint32_t base) const;
};

/// Those of device memory.
class UsageTable {
public:
    UsageTable();
    ~UsageTable();
    UsageTable(const UsageTable&) = delete;
    UsageTable& operator=(const UsageTable&) = delete;

    [[nodiscard]] Usages usages() const { return {page_, page_bits, Memory::base, Memory::reserved}; }

private:
    static constexpr unsigned page_bits = 12;

    std::uint64_t* page_;
};

}  // namespace hipscope::sanitize
