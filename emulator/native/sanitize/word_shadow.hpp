// What the search for races remembers of each word of memory: who stored to it last, who loaded it since, and what it held.
//
// Words are kept in blocks of 16, so that an access to one of them meets few cache lines and rows of them are looked at
// in vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/memory.hpp"

namespace hipscope::sanitize {

struct alignas(64) WordBlock {
    static constexpr unsigned address_bits = 6;
    static constexpr std::size_t words = 1U << (address_bits - 2);

    std::uint64_t write[words], read[words];  // bits of a Trace
    std::uint32_t value[words];               // what the word held after the last store
};

/// A trace is somebody else's when its segment is one of those from `base` on, and not `own`.
struct Foreign {
    std::uint32_t base, own;
    [[nodiscard]] bool operator()(std::uint64_t bits) const {
        const auto by = static_cast<std::uint32_t>(bits >> 32U);
        return (static_cast<unsigned>(by >= base) & static_cast<unsigned>(by != own)) != 0;
    }
};

/// Whole words that follow each other, from word `first` of `block` on; each lane has `per_lane` of them.
struct WordRow {
    WordBlock* block;
    std::size_t first, count;
    std::uint32_t per_lane;
};

/// Whether somebody else has stored to one of the words or loaded it.
bool meets_others(const WordRow& row, Foreign foreign);
/// Notes a load by all lanes, `before` of whose words come before the row: where nobody else's load is noted.
/// `bits`: its Trace but for the lane. True when somebody else has stored to one of the words.
bool note_loads(const WordRow& row, std::size_t before, Foreign foreign, std::uint64_t bits);
/// Notes a store by all lanes that left `content`.
void note_stores(const WordRow& row, std::size_t before, std::uint64_t bits, const std::uint32_t* content);

/// The blocks of global memory. Those of the device's address range take memory when they are touched.
class WordShadow {
public:
    WordShadow();
    ~WordShadow();
    WordShadow(const WordShadow&) = delete;
    WordShadow& operator=(const WordShadow&) = delete;

    [[nodiscard]] WordBlock* block(std::uint64_t address) {
        const std::uint64_t offset = address - Memory::base;
        if (offset < Memory::reserved) [[likely]] return blocks_ + (offset >> WordBlock::address_bits);
        return outside(address);
    }
    /// A block of memory that is likely to be used as a whole: its notes are given out in large pages.
    void expect(std::uint64_t address, std::uint64_t bytes);
    /// Memory of which all will be accessed.
    void populate(std::uint64_t address, std::uint64_t bytes);
    /// True when the blocks from `address` on follow each other.
    [[nodiscard]] static bool in_one_piece(std::uint64_t address, std::uint64_t bytes) {
        return address - Memory::base < Memory::reserved - bytes;
    }

private:
    [[nodiscard]] WordBlock* outside(std::uint64_t address);

    WordBlock* blocks_;
    std::unordered_map<std::uint64_t, std::unique_ptr<WordBlock>> outside_;  // of registered host memory
};

}  // namespace hipscope::sanitize
