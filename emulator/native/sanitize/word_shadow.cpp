// Rows of words, and where their blocks lie.
#include "sanitize/word_shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "core/populate.hpp"
#include "sanitize/reserve.hpp"

namespace hipscope::sanitize {
namespace {

constexpr std::uint64_t kLargePage = 2ULL << 20U;
constexpr std::uint64_t kMostInLargePages = 64ULL << 20U;  // larger blocks may be used here and there only
constexpr std::uint64_t kBlocks = Memory::reserved >> WordBlock::address_bits;
constexpr const char* kNeed = "the search for races";
constexpr std::uint64_t kKept = 3U << 10U;  // see Trace::is_kept

/// Calls `part(block, from, to, done)` for the words of each block of a row; `done` of the row's words come before.
template <class Part>
[[gnu::always_inline]] inline void each_block(const WordRow& row, Part part) {
    WordBlock block = row.block;
    std::size_t from = row.first;
    for (std::size_t done = 0; done < row.count; block = block.after(1)) {
        const std::size_t to = std::min(WordBlock::words, from + row.count - done);
        part(block, from, to, done);
        done += to - from;
        from = 0;
    }
}

/// What the head of a block is to say when the block holds the row's words from `number` on. by_word: it can't.
std::uint64_t head_of(const WordRow& row, std::size_t number, std::uint64_t bits) {
    const std::size_t lane = row.lane_of(number);
    auto step = RowStep::one_lane;
    if (row.lanes > 1) step = row.lanes == 2 ? RowStep::two_lanes : RowStep::four_lanes;
    else if (lane == row.lane_of(number + WordBlock::words - 1)) step = RowStep::one_lane;
    else if (row.words > 4 || row.words == 3 || number % row.words != 0) return WordHead::by_word;
    else step = row.words == 1 ? RowStep::one_word : row.words == 2 ? RowStep::two_words : RowStep::four_words;
    return (bits & ~std::uint64_t{15}) + (lane << 4U) + static_cast<std::uint64_t>(step);
}

/// Whether another wave is noted for words [from, to), by the head or by words.
bool met_in(std::uint64_t head, const std::uint64_t* traces, std::size_t from, std::size_t to, Foreign foreign) {
    if (head != WordHead::by_word) return foreign(head);
    unsigned met = 0;
    for (std::size_t i = from; i < to; ++i) met |= static_cast<unsigned>(foreign(traces[i]));
    return met != 0;
}

}  // namespace

bool meets_others(const WordRow& row, Foreign foreign) {
    bool met = false;
    each_block(row, [&](const WordBlock& b, std::size_t from, std::size_t to, std::size_t) {
        met |= met_in(b.head->write, b.traces->write, from, to, foreign) || met_in(b.head->read, b.traces->read, from, to, foreign);
    });
    return met;
}

bool note_loads(const WordRow& row, std::size_t before, Foreign foreign, std::uint64_t bits) {
    bool met = false;
    each_block(row, [&](const WordBlock& b, std::size_t from, std::size_t to, std::size_t done) {
        met |= met_in(b.head->write, b.traces->write, from, to, foreign);
        const std::uint64_t read = b.head->read;
        const bool whole = to - from == WordBlock::words;
        const bool others = met_in(read, b.traces->read, from, to, foreign);
        if (others && read != WordHead::by_word) return;  // who has read all of it stays
        if (whole && !others) {
            b.head->read = head_of(row, before + done, bits);
            if (b.head->read != WordHead::by_word) return;
        } else {
            b.reads();
        }
        for (std::size_t i = from; i < to; ++i) {
            const std::uint64_t noted = others ? b.traces->read[i] : 0;
            if (foreign(noted)) met |= (noted & kKept) == kKept;
            else b.traces->read[i] = bits + (row.lane_of(before + done + i - from) << 4U);
        }
    });
    return met;
}

void note_stores(const WordRow& row, std::size_t before, std::uint64_t bits, const std::uint32_t* content) {
    each_block(row, [&](const WordBlock& b, std::size_t from, std::size_t to, std::size_t done) {
        std::copy_n(content + done, to - from, b.value + from);
        if (to - from == WordBlock::words) {
            b.head->read = WordHead::nobody;
            b.head->write = head_of(row, before + done, bits);
            if (b.head->write != WordHead::by_word) return;
        } else {
            b.writes();
            std::fill(b.reads() + from, b.traces->read + to, 0);
        }
        for (std::size_t i = from; i < to; ++i) b.traces->write[i] = bits + (row.lane_of(before + done + i - from) << 4U);
    });
}

WordShadow::WordShadow()
    : first_{static_cast<WordHead*>(reserve(kBlocks * sizeof(WordHead), kNeed)), static_cast<WordTraces*>(reserve(kBlocks * sizeof(WordTraces), kNeed)),
             static_cast<std::uint32_t*>(reserve(kBlocks * WordBlock::words * sizeof(std::uint32_t), kNeed))} {}

WordShadow::~WordShadow() {
    munmap(first_.head, kBlocks * sizeof(WordHead));
    munmap(first_.traces, kBlocks * sizeof(WordTraces));
    munmap(first_.value, kBlocks * WordBlock::words * sizeof(std::uint32_t));
}

/// Heads are what every access meets. The rest of a block may not be needed.
void WordShadow::expect(std::uint64_t address, std::uint64_t bytes) {
    if (!in_one_piece(address, bytes) || bytes > kMostInLargePages) return;
    const auto large = [](const void* from, const void* to) {
        const auto start = reinterpret_cast<std::uint64_t>(from), end = reinterpret_cast<std::uint64_t>(to);
        const std::uint64_t first = (start + kLargePage - 1) / kLargePage * kLargePage, last = end / kLargePage * kLargePage;
        if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // NOLINT: it only saves time
    };
    const WordBlock from = block(address), to = block(address + bytes);
    large(from.head, to.head);
    large(from.traces, to.traces);
    large(from.value, to.value);
}

void WordShadow::populate(std::uint64_t address, std::uint64_t bytes) {
    if (!in_one_piece(address, bytes)) return;
    hipscope::populate(reinterpret_cast<std::uint64_t>(block(address).head), reinterpret_cast<std::uint64_t>(block(address + bytes).head));
}

WordBlock WordShadow::outside(std::uint64_t address) {
    auto& blocks = outside_[address >> WordBlock::address_bits];
    if (!blocks) {
        blocks = std::make_unique<WordBlocks>();
        blocks->resize(1);
    }
    return blocks->block(0);
}

}  // namespace hipscope::sanitize
