// Which of a few waves or CUs is next: a tournament tree over their times. Ties go to the lower number.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hipscope {

template <std::size_t capacity>
class Earliest {
    static_assert(std::has_single_bit(capacity));

public:
    static constexpr unsigned bits = std::bit_width(capacity - 1);
    static constexpr std::int64_t never = INT64_MAX >> bits;  // cycles; a day of device time is far below

    Earliest() { keys_.fill(kEmpty); }

    /// `place`: its leaf of the tree, which no other one has.
    void set(std::size_t place, std::size_t which, std::int64_t time) {
        std::int64_t least = time >= never ? kEmpty : (time << bits) | static_cast<std::int64_t>(which);
        std::size_t k = capacity + place;
        keys_[k] = least;
        for (; k != 1; k >>= 1U) {  // up the tree with the winner at hand: only its opponents are loaded
            least = std::min(least, keys_[k ^ 1U]);
            keys_[k >> 1U] = least;
        }
    }
    /// The least time, or `never`.
    [[nodiscard]] std::int64_t time() const { return keys_[1] == kEmpty ? never : keys_[1] >> bits; }
    /// Whose it is; only when there is one.
    [[nodiscard]] std::size_t which() const { return static_cast<std::size_t>(keys_[1] & static_cast<std::int64_t>(capacity - 1)); }
    /// Call `take(which)` for all whose time is `until` or earlier.
    template <class Take>
    void all_until(std::int64_t until, Take take) const {
        for (std::size_t k = capacity; k < 2 * capacity; ++k)
            if (keys_[k] >> bits <= until) take(static_cast<std::size_t>(keys_[k] & static_cast<std::int64_t>(capacity - 1)));
    }

    /// Whether `which`, whose leaf is `place`, would come before all others of its part of the leaves at `time`. The parts
    /// are equal, and their number is a power of two.
    template <std::size_t parts>
    [[nodiscard]] bool leads(std::size_t place, std::size_t which, std::int64_t time) const {
        const std::int64_t own = (time << bits) | static_cast<std::int64_t>(which);
        for (std::size_t k = capacity + place; k >= 2 * parts; k >>= 1U)
            if (keys_[k ^ 1U] < own) return false;
        return true;
    }
    /// Until when somebody comes before all others.
    struct Lead {
        std::int64_t near;  // the last time at which it comes before those of its part of the leaves
        std::int64_t all;   // the least time of anybody else, or more than `never`
    };
    /// The same, for how long.
    template <std::size_t parts>
    [[nodiscard]] Lead lead_of(std::size_t place, std::size_t which) const {
        std::int64_t least = kEmpty;
        std::size_t k = capacity + place;
        for (; k >= 2 * parts; k >>= 1U) least = std::min(least, keys_[k ^ 1U]);
        const std::int64_t near = (least - 1 - static_cast<std::int64_t>(which)) >> bits;
        for (; k != 1; k >>= 1U) least = std::min(least, keys_[k ^ 1U]);
        return {near, least >> bits};
    }

private:
    static constexpr std::int64_t kEmpty = INT64_MAX;
    std::array<std::int64_t, 2 * capacity> keys_;
};

}  // namespace hipscope
