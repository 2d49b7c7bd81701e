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

    void set(std::size_t which, std::int64_t time) {
        std::int64_t least = time >= never ? kEmpty : (time << bits) | static_cast<std::int64_t>(which);
        std::size_t k = capacity + which;
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
    [[nodiscard]] std::int64_t time_of(std::size_t which) const { return keys_[capacity + which] >> bits; }

private:
    static constexpr std::int64_t kEmpty = INT64_MAX;
    std::array<std::int64_t, 2 * capacity> keys_;
};

}  // namespace hipscope
