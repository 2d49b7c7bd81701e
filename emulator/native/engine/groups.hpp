// Hands out the workgroups of a dispatch: those of the timed XCD to the timing model, all others to functional threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <optional>

#include "engine/xcd_work.hpp"

namespace hipscope {

/// Workgroups that came to their ends, and the instructions of their waves.
struct EndedGroups {
    std::uint64_t count = 0, instructions = 0;

    /// What one of them executed.
    [[nodiscard]] double each() const { return count == 0 ? 0 : static_cast<double>(instructions) / static_cast<double>(count); }
};

class GroupSource {
public:
    /// Workgroup i belongs to XCD i % xcds; `timed` is the XCD that is timed, if one is, and the work of all is noted when
    /// `weighed`. A `seed` other than 0 shuffles the order in which untimed workgroups start, so that results which depend on
    /// it show themselves. `alone`: only workgroups of the timed XCD are handed out, to be timed.
    GroupSource(std::uint64_t count, std::uint64_t xcds, std::optional<std::uint64_t> timed, bool weighed, std::uint64_t seed = 0, bool alone = false)
        : count_(count), xcds_(xcds), xcd_(timed.value_or(0)), timed_(timed.has_value()), weighed_(weighed), alone_(alone), timed_open_(timed.has_value()), work_(xcds) {
        if (seed == 0 || timed_ || count < 2) return;
        // i -> first + i * step (mod count) meets every workgroup once when step and count have no common divisor.
        // Odd seeds run backwards, more or less, even ones forwards.
        const std::uint64_t near = 1 + seed * 0x9e3779b97f4a7c15ULL % count;
        step_ = seed % 2 == 1 ? count - std::min(near % 7 + 1, count - 1) : near;
        while (std::gcd(step_, count) != 1) step_ = step_ % count + 1;
        first_ = seed * 0xbf58476d1ce4e5b9ULL % count;
    }

    std::optional<std::uint64_t> next_timed() {
        if (!timed_open_.load(std::memory_order_relaxed)) return std::nullopt;
        return next_of_timed();
    }
    std::optional<std::uint64_t> next_functional() {
        if (!timed_) {
            const std::uint64_t i = functional_next_.fetch_add(1, std::memory_order_relaxed);
            if (i < count_) return (first_ + i % count_ * step_) % count_;
            return std::nullopt;
        }
        if (alone_) return std::nullopt;
        if (xcds_ > 1) {
            const std::uint64_t k = functional_next_.fetch_add(1, std::memory_order_relaxed);
            const std::uint64_t other = k % (xcds_ - 1);
            const std::uint64_t i = k / (xcds_ - 1) * xcds_ + other + (other < xcd_ ? 0 : 1);
            if (i < count_) return i;
        }
        if (timed_open_.load(std::memory_order_relaxed)) return std::nullopt;
        return next_of_timed();
    }
    /// The timing model takes no more workgroups; functional threads do the rest of its XCD.
    void close_timed() { timed_open_ = false; }
    [[nodiscard]] bool timed_open() const { return timed_open_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t xcd() const { return xcd_; }
    [[nodiscard]] std::uint64_t timed_total() const { return timed_ ? (count_ + xcds_ - 1 - xcd_) / xcds_ : 0; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// A workgroup has come to its end after so many instructions of its waves.
    void end_one(std::uint64_t group, std::uint64_t instructions) {
        if (weighed_) work_.add(group, instructions);
        ended_.fetch_add(1, std::memory_order_relaxed);
        instructions_.fetch_add(instructions, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t instructions() const { return instructions_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t ended() const { return ended_.load(std::memory_order_relaxed); }
    [[nodiscard]] EndedGroups whole() const { return {ended(), instructions()}; }
    /// By XCD; nothing unless they are weighed.
    [[nodiscard]] const XcdWork& work() const { return work_; }

private:
    std::optional<std::uint64_t> next_of_timed() {
        const std::uint64_t i = timed_next_.fetch_add(1, std::memory_order_relaxed) * xcds_ + xcd_;
        if (i < count_) return i;
        return std::nullopt;
    }

    std::uint64_t count_, xcds_, xcd_;
    std::uint64_t first_ = 0, step_ = 1;
    bool timed_, weighed_, alone_;
    std::atomic<bool> timed_open_;
    XcdWork work_;
    // Every thread writes the last two: in cache lines of their own, so that what all only read stays with each.
    alignas(64) std::atomic<std::uint64_t> timed_next_{0};
    alignas(64) std::atomic<std::uint64_t> functional_next_{0};
    alignas(64) std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> instructions_{0};
};

}  // namespace hipscope
