// One bit for each line of device memory; what was never marked takes no memory.
#include "timing/written_lines.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "core/memory.hpp"

namespace hipscope {
namespace {

constexpr std::uint64_t kFirst = Memory::base >> kLineBits, kLines = Memory::reserved >> kLineBits;
constexpr std::size_t kBytes = kLines >> 3U;

}  // namespace

WrittenLines::WrittenLines() {
    void* words = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) throw std::runtime_error("cannot reserve the cache model's table of written lines");
    words_ = static_cast<std::uint64_t*>(words);
}

WrittenLines::~WrittenLines() { munmap(words_, kBytes); }

void WrittenLines::mark(std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t in_word = (std::uint64_t{1} << kWordBits) - 1;
    begin = std::max(begin, kFirst) - kFirst;
    end = std::min(std::max(end, kFirst) - kFirst, kLines);
    while (begin < end) {
        const std::uint64_t until = std::min(end, (begin | in_word) + 1);
        const std::uint64_t mask = (~std::uint64_t{0} >> (in_word - (until - 1 - begin))) << (begin & in_word);
        std::atomic_ref word(words_[begin >> kWordBits]);
        if ((word.load(std::memory_order_relaxed) & mask) != mask) word.fetch_or(mask, std::memory_order_relaxed);
        begin = until;
    }
}

void WrittenLines::mark_range(std::uint64_t address, std::uint64_t bytes) {
    if (bytes > 0) mark(address >> kLineBits, ((address + bytes - 1) >> kLineBits) + 1);
}

bool WrittenLines::contains(std::uint64_t line) const {
    const std::uint64_t index = line - kFirst;
    return index < kLines && (words_[index >> kWordBits] >> (index & ((std::uint64_t{1} << kWordBits) - 1)) & 1U) != 0;
}

void WrittenLines::clear() { madvise(words_, kBytes, MADV_DONTNEED); }

}  // namespace hipscope
