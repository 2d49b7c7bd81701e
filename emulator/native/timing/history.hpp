// What earlier dispatches left in the memory-side cache (MALL): which pages of device memory were used last.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/memory.hpp"
#include "engine/access.hpp"

namespace hipscope {

/// Pages that a dispatch uses are marked by all its threads (an idempotent store, so the outcome does not depend on
/// thread order); `commit` turns the marks into ages when the dispatch has ended.
class MallHistory {
public:
    static constexpr unsigned page_bits = 16;

    MallHistory(double capacity_bytes, int ways);
    ~MallHistory();
    MallHistory(const MallHistory&) = delete;
    MallHistory& operator=(const MallHistory&) = delete;

    /// Note that the running dispatch uses this 128-byte line of device memory.
    void mark(std::uint64_t line) {
        const std::uint64_t page = page_of(line);
        if (page < pages_) std::atomic_ref(marks_[page]).store(1, std::memory_order_relaxed);
    }
    /// The same of all lines in [begin, end).
    void mark_lines(std::uint64_t begin, std::uint64_t end) {
        constexpr std::uint64_t step = 1U << (page_bits - kLineBits);
        mark(end - 1);
        for (std::uint64_t line = begin; line < end; line += step) mark(line);
    }
    /// The dispatch (or a copy over [address, address + bytes)) has ended.
    void commit();
    void mark_range(std::uint64_t address, std::uint64_t bytes);

    /// Whether the line is still there from earlier dispatches.
    [[nodiscard]] bool resident(std::uint64_t line) const;
    [[nodiscard]] double capacity() const { return capacity_; }

private:
    static constexpr std::size_t kStepsPerCapacity = 128, kSteps = 3 * kStepsPerCapacity;

    [[nodiscard]] static std::uint64_t page_of(std::uint64_t line) {
        return (line - (Memory::base >> kLineBits)) >> (page_bits - kLineBits);
    }

    std::uint64_t pages_;
    std::uint8_t* marks_;
    std::uint32_t* used_in_;              // number of the last dispatch that used the page, 0 for never
    std::uint64_t scanned_end_ = 0;       // pages beyond it were never marked
    std::vector<double> bytes_after_{0};  // per dispatch number: bytes used by it and all later ones
    double capacity_;
    std::array<std::uint32_t, kSteps> survivors_{};  // of 2^16 lines, by the bytes used since in steps of the capacity
};

}  // namespace hipscope
