// Rows of words, and where their blocks lie.
#include "sanitize/word_shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "core/populate.hpp"
#include "core/widest.hpp"

namespace hipscope::sanitize {
namespace {

constexpr std::uint64_t kLargePage = 2ULL << 20U;
constexpr std::uint64_t kMostInLargePages = 64ULL << 20U;  // larger blocks may be used here and there only
constexpr std::uint64_t kShadowBytes = (Memory::reserved >> WordBlock::address_bits) * sizeof(WordBlock);

/// Calls `part(block, from, to, done)` for the words of each block of a row; `done` of the row's words come before.
template <class Part>
[[gnu::always_inline]] inline void each_block(const WordRow& row, Part part) {
    WordBlock* block = row.block;
    std::size_t from = row.first;
    for (std::size_t done = 0; done < row.count; ++block) {
        const std::size_t to = std::min(WordBlock::words, from + row.count - done);
        part(*block, from, to, done);
        done += to - from;
        from = 0;
    }
}

/// A trace with the lane that word `number` of a row belongs to.
[[gnu::always_inline]] inline std::uint64_t by_lane(std::uint64_t bits, std::size_t number, std::uint32_t per_lane, unsigned shift) {
    return bits | (per_lane == 3 ? number / 3 : number >> shift) << 4U;
}

unsigned shift_of(std::uint32_t per_lane) { return static_cast<unsigned>(std::countr_zero(per_lane == 3 ? 1U : per_lane)); }

}  // namespace

HIPSCOPE_WIDEST bool meets_others(const WordRow& row, Foreign foreign) {
    unsigned met = 0;
    each_block(row, [&](const WordBlock& b, std::size_t from, std::size_t to, std::size_t) {
        for (std::size_t i = from; i < to; ++i) met |= static_cast<unsigned>(foreign(b.write[i])) | static_cast<unsigned>(foreign(b.read[i]));
    });
    return met != 0;
}

HIPSCOPE_WIDEST bool note_loads(const WordRow& row, std::size_t before, Foreign foreign, std::uint64_t bits) {
    const unsigned shift = shift_of(row.per_lane);
    unsigned met = 0;
    each_block(row, [&](WordBlock& b, std::size_t from, std::size_t to, std::size_t done) {
        for (std::size_t i = from; i < to; ++i) {
            const std::uint64_t mine = by_lane(bits, before + done + i - from, row.per_lane, shift);
            met |= static_cast<unsigned>(foreign(b.write[i]));
            b.read[i] = foreign(b.read[i]) ? b.read[i] : mine;
        }
    });
    return met != 0;
}

HIPSCOPE_WIDEST void note_stores(const WordRow& row, std::size_t before, std::uint64_t bits, const std::uint32_t* content) {
    const unsigned shift = shift_of(row.per_lane);
    each_block(row, [&](WordBlock& b, std::size_t from, std::size_t to, std::size_t done) {
        for (std::size_t i = from; i < to; ++i) b.write[i] = by_lane(bits, before + done + i - from, row.per_lane, shift);
        for (std::size_t i = from; i < to; ++i) b.read[i] = 0;
        for (std::size_t i = from; i < to; ++i) b.value[i] = content[done + i - from];
    });
}

WordShadow::WordShadow() {
    void* at = mmap(nullptr, kShadowBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no address space left for the search for races");
    madvise(at, kShadowBytes, MADV_DONTDUMP);
    blocks_ = static_cast<WordBlock*>(at);
}

WordShadow::~WordShadow() { munmap(blocks_, kShadowBytes); }

void WordShadow::expect(std::uint64_t address, std::uint64_t bytes) {
    if (!in_one_piece(address, bytes) || bytes > kMostInLargePages) return;
    const auto start = reinterpret_cast<std::uint64_t>(block(address)), end = reinterpret_cast<std::uint64_t>(block(address + bytes));
    const std::uint64_t first = (start + kLargePage - 1) / kLargePage * kLargePage, last = end / kLargePage * kLargePage;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // NOLINT: it only saves time
}

void WordShadow::populate(std::uint64_t address, std::uint64_t bytes) {
    if (!in_one_piece(address, bytes)) return;
    hipscope::populate(reinterpret_cast<std::uint64_t>(block(address)), reinterpret_cast<std::uint64_t>(block(address + bytes)));
}

WordBlock* WordShadow::outside(std::uint64_t address) {
    auto& block = outside_[address >> WordBlock::address_bits];
    if (!block) block = std::make_unique<WordBlock>();
    return block.get();
}

}  // namespace hipscope::sanitize
