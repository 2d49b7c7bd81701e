// MALL contents between dispatches.
#include "timing/history.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hipscope {
namespace {

constexpr std::size_t kKeptDispatches = 4096;

template <class T>
T* sparse_array(std::uint64_t count) {
    void* p = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::runtime_error("cannot reserve the cache model's page table");
    return static_cast<T*>(p);
}

/// The share of lines that a cache of least-recently-used sets still holds after `used` times its capacity went through
/// it: fewer lines than a set has ways have fallen on theirs, when addresses spread over the sets at random.
double survival(double used, int ways) {
    const double expected = used * ways;
    double probability = std::exp(-expected), sum = 0;
    for (int lines = 0; lines < ways; ++lines) {
        sum += probability;
        probability *= expected / (lines + 1);
    }
    return sum;
}

}  // namespace

MallHistory::MallHistory(double capacity_bytes, int ways)
    : pages_(Memory::reserved >> page_bits),
      marks_(sparse_array<std::uint8_t>(pages_)),
      used_in_(sparse_array<std::uint32_t>(pages_)),
      capacity_(capacity_bytes) {
    for (std::size_t i = 0; i < kSteps; ++i)
        survivors_[i] = static_cast<std::uint32_t>(65536.0 * survival(static_cast<double>(i) / kStepsPerCapacity, ways));
}

MallHistory::~MallHistory() {
    munmap(marks_, pages_);
    munmap(used_in_, pages_ * sizeof *used_in_);
}

void MallHistory::mark_range(std::uint64_t address, std::uint64_t bytes) {
    for (std::uint64_t at = address; at < address + bytes; at += 1ULL << page_bits) mark(at >> kLineBits);
}

void MallHistory::commit() {
    // Blocks are handed out from the bottom, so marks end soon after the highest page seen so far.
    constexpr std::uint64_t stride = 1U << 12U;
    const auto number = static_cast<std::uint32_t>(bytes_after_.size());
    double bytes = 0;
    std::uint64_t empty_run = 0;
    for (std::uint64_t page = 0; page < pages_ && (page < scanned_end_ || empty_run < stride); ++page) {
        if (marks_[page] == 0) {
            ++empty_run;
            continue;
        }
        empty_run = 0;
        marks_[page] = 0;
        used_in_[page] = number;
        bytes += static_cast<double>(1U << page_bits);
        scanned_end_ = std::max(scanned_end_, page + 1);
    }
    const std::size_t oldest = bytes_after_.size() > kKeptDispatches ? bytes_after_.size() - kKeptDispatches : 0;
    for (std::size_t i = oldest; i < bytes_after_.size(); ++i) bytes_after_[i] += bytes;
    bytes_after_.push_back(bytes);
}

bool MallHistory::resident(std::uint64_t line) const {
    const std::uint64_t page = page_of(line);
    if (page >= pages_ || used_in_[page] == 0) return false;
    const std::uint32_t dispatch = used_in_[page];
    if (dispatch + kKeptDispatches < bytes_after_.size()) return false;
    const double step = bytes_after_[dispatch] / capacity_ * kStepsPerCapacity;
    if (step >= kSteps) return false;
    const std::uint64_t hash = (line * 0x9e3779b97f4a7c15ULL) >> 40U;
    return (hash & 0xffffU) < survivors_[static_cast<std::size_t>(step)];
}

}  // namespace hipscope
