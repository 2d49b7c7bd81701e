// One bit for each line of device memory; what was never marked takes no memory.
#include "timing/written_lines.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>

#include "core/memory.hpp"

namespace hipscope {
namespace {

constexpr std::uint64_t kFirst = Memory::base >> kLineBits, kLines = Memory::reserved >> kLineBits;
constexpr unsigned kBits = 6;  // of a word, as a power of two
constexpr std::uint64_t kInWord = (std::uint64_t{1} << kBits) - 1, kBlocks = kLines >> (2 * kBits);

constexpr std::size_t bytes_for(std::uint64_t bits) { return static_cast<std::size_t>(bits >> 3U); }

std::uint64_t* table(std::uint64_t bits) {
    void* words = mmap(nullptr, bytes_for(bits), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) throw std::runtime_error("cannot reserve the cache model's table of written lines");
    return static_cast<std::uint64_t*>(words);
}

/// Set bits of a word that other threads set bits of as well. False when all were set.
bool set_bits(std::uint64_t& word, std::uint64_t mask) {
    std::atomic_ref shared(word);
    if ((shared.load(std::memory_order_relaxed) & mask) == mask) return false;
    shared.fetch_or(mask, std::memory_order_relaxed);
    return true;
}

}  // namespace

WrittenLines::WrittenLines() : words_(table(kLines)), blocks_(table(kBlocks)) {}

WrittenLines::~WrittenLines() {
    munmap(words_, bytes_for(kLines));
    munmap(blocks_, bytes_for(kBlocks));
}

void WrittenLines::mark(std::uint64_t begin, std::uint64_t end) {
    begin = std::max(begin, kFirst) - kFirst;
    end = std::min(std::max(end, kFirst) - kFirst, kLines);
    while (begin < end) {
        const std::uint64_t until = std::min(end, (begin | kInWord) + 1), block = begin >> (2 * kBits);
        const std::uint64_t mask = (~std::uint64_t{0} >> (kInWord - (until - 1 - begin))) << (begin & kInWord);
        if (set_bits(words_[begin >> kBits], mask)) set_bits(blocks_[block >> kBits], std::uint64_t{1} << (block & kInWord));
        begin = until;
    }
}

void WrittenLines::mark_range(std::uint64_t address, std::uint64_t bytes) {
    if (bytes > 0) mark(address >> kLineBits, ((address + bytes - 1) >> kLineBits) + 1);
}

bool WrittenLines::contains(std::uint64_t line) const {
    const std::uint64_t index = line - kFirst;
    return index < kLines && (words_[index >> kBits] >> (index & kInWord) & 1U) != 0;
}

template <class Take>
void WrittenLines::for_each_word(Take take) const {
    for (std::uint64_t i = 0; i < kBlocks >> kBits; ++i)
        for (std::uint64_t rest = blocks_[i]; rest != 0; rest &= rest - 1) {
            const std::uint64_t block = (i << kBits) + static_cast<unsigned>(std::countr_zero(rest));
            for (std::uint64_t word = block << kBits; word < (block + 1) << kBits; ++word) take(word);
        }
}

void WrittenLines::remove_from(Tags& l2) const {
    std::size_t marked = 0;
    for_each_word([&](std::uint64_t word) { marked += static_cast<unsigned>(std::popcount(words_[word])); });
    if (marked > l2.capacity()) return l2.remove_if([this](std::uint64_t line) { return contains(line); });
    for_each_word([&](std::uint64_t word) {
        for (std::uint64_t rest = words_[word]; rest != 0; rest &= rest - 1)
            l2.remove(kFirst + (word << kBits) + static_cast<unsigned>(std::countr_zero(rest)));
    });
}

void WrittenLines::clear() {
    for_each_word([this](std::uint64_t word) { words_[word] = 0; });
    std::fill_n(blocks_, kBlocks >> kBits, 0);
}

}  // namespace hipscope
