// What the search for races remembers of each word of memory: who stored to it last, who loaded it since, and what it held.
//
// Words are kept in blocks of 16. Most are accessed in rows, by lanes that follow each other: then the head of a block
// says it for all of its words, and nothing else of it is touched.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/memory.hpp"

namespace hipscope::sanitize {

/// How the lanes of a row follow each other in a block, from the lane of its first word on.
enum class RowStep : std::uint8_t { one_word = 2, two_words, four_words, one_lane, two_lanes, four_lanes };

/// Of a block: a row's Trace of the first word with a RowStep in place of its mask, or one of these.
struct WordHead {
    static constexpr std::uint64_t nobody = 0, by_word = 1;  // see WordTraces
    std::uint64_t write, read;
};
struct alignas(64) WordTraces {
    std::uint64_t write[16], read[16];  // bits of a Trace
};

/// The notes of 16 words, and of those that follow.
struct WordBlock {
    static constexpr unsigned address_bits = 6;
    static constexpr std::size_t words = 1U << (address_bits - 2);

    WordHead* head;
    WordTraces* traces;
    std::uint32_t* value;  // what each word held after the last store

    [[nodiscard]] WordBlock after(std::size_t blocks) const { return {head + blocks, traces + blocks, value + blocks * words}; }
    /// Who stored to word i last.
    [[nodiscard]] std::uint64_t writer(std::size_t i) const { return head->write == WordHead::by_word ? traces->write[i] : trace_in(head->write, i); }
    std::uint64_t* writes() const {
        if (head->write != WordHead::by_word) spell_out(head->write, traces->write);
        return traces->write;
    }
    std::uint64_t* reads() const {
        if (head->read != WordHead::by_word) spell_out(head->read, traces->read);
        return traces->read;
    }
    [[nodiscard]] static std::uint64_t trace_in(std::uint64_t row, std::size_t i) {
        if (row == WordHead::nobody) return 0;
        const auto step = static_cast<RowStep>(row & 15U);
        std::size_t lanes = 0;
        if (step <= RowStep::four_words) lanes = i >> (static_cast<unsigned>(step) - static_cast<unsigned>(RowStep::one_word));
        else if (step != RowStep::one_lane) lanes = i << (static_cast<unsigned>(step) - static_cast<unsigned>(RowStep::one_lane));
        return (row | 15U) + (lanes << 4U);
    }

private:
    static void spell_out(std::uint64_t& head, std::uint64_t* traces) {
        for (std::size_t i = 0; i < words; ++i) traces[i] = trace_in(head, i);
        head = WordHead::by_word;
    }
};

/// Blocks that begin with address 0.
class WordBlocks {
public:
    void resize(std::size_t blocks) {
        heads_.resize(blocks);
        traces_.resize(blocks);
        values_.resize(blocks * WordBlock::words);
    }
    [[nodiscard]] WordBlock block(std::uint64_t address) {
        return WordBlock{heads_.data(), traces_.data(), values_.data()}.after(address >> WordBlock::address_bits);
    }

private:
    std::vector<WordHead> heads_;
    std::vector<WordTraces> traces_;
    std::vector<std::uint32_t> values_;
};

/// A trace is of another wave when its segment is one of those from `base` on, and not `own`.
struct Foreign {
    std::uint32_t base, own;
    [[nodiscard]] bool operator()(std::uint64_t bits) const {
        const auto by = static_cast<std::uint32_t>(bits >> 32U);
        return (static_cast<unsigned>(by >= base) & static_cast<unsigned>(by != own)) != 0;
    }
};

/// Whole words that follow each other, from word `first` of `block` on. Lanes from `lane` on have `words` each, or `lanes` of
/// them one; the other number is 1.
struct WordRow {
    WordBlock block;
    std::size_t first, count;
    std::uint32_t lane, words, lanes;

    [[nodiscard]] std::size_t lane_of(std::size_t number) const {
        if (words == 1) return lane + number * lanes;
        return lane + (words == 3 ? number / 3 : number >> static_cast<unsigned>(std::countr_zero(words)));  // no division by a variable
    }
};

/// Whether another wave has stored to one of the words or loaded it.
bool meets_others(const WordRow& row, Foreign foreign);
/// Notes a load, `before` of whose words come before the row: where no other load is noted. `bits`: its Trace but for
/// the lane. True when another wave has stored to one of the words, or an atomic operation is noted in the place of a load.
bool note_loads(const WordRow& row, std::size_t before, Foreign foreign, std::uint64_t bits);
/// Notes a store that left `content`.
void note_stores(const WordRow& row, std::size_t before, std::uint64_t bits, const std::uint32_t* content);

/// The blocks of global memory. Those of the device's address range take memory when they are touched.
class WordShadow {
public:
    WordShadow();
    ~WordShadow();
    WordShadow(const WordShadow&) = delete;
    WordShadow& operator=(const WordShadow&) = delete;

    [[nodiscard]] WordBlock block(std::uint64_t address) {
        const std::uint64_t offset = address - Memory::base;
        if (offset < Memory::reserved) [[likely]] return first_.after(offset >> WordBlock::address_bits);
        return outside(address);
    }
    /// A store to this address is about to be noted.
    void prefetch(std::uint64_t address) const {
        const std::uint64_t offset = address - Memory::base;
        if (offset >= Memory::reserved) return;
        const WordBlock block = first_.after(offset >> WordBlock::address_bits);
        __builtin_prefetch(block.head, 1);
        __builtin_prefetch(block.value, 1);
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
    [[nodiscard]] WordBlock outside(std::uint64_t address);

    WordBlock first_;  // of the device's address range
    std::unordered_map<std::uint64_t, std::unique_ptr<WordBlocks>> outside_;  // of registered host memory
};

}  // namespace hipscope::sanitize
