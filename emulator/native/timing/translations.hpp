// The address translations that a CU's vector memory holds (UTCL1): those of the fragments of memory that were used last. The L1
// translates an access before it looks up its lines. What is not held comes from the second level (UTCL2), one after the other,
// and what is behind waits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/access.hpp"

namespace hipscope {

class Translations {
public:
    Translations(int entries, int fragment_bytes, int miss_cycles)
        : entries_(static_cast<std::size_t>(entries)),
          shift_(static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(fragment_bytes))) - kLineBits),
          miss_cycles_(miss_cycles) {
        held_.reserve(entries_);
    }

    /// The time at which the address of a line is known that is asked for at `t`.
    std::int64_t translate(std::uint64_t line, std::int64_t t) {
        const std::uint64_t fragment = line >> shift_;
        if (!held_.empty() && held_.back() == fragment) [[likely]] return t;
        return holds(fragment) ? t : t + fetch(fragment);
    }
    [[nodiscard]] std::uint64_t misses() const { return misses_; }

private:
    /// Whether it is there: then it is the one used last.
    bool holds(std::uint64_t fragment) {
        const auto found = std::find(held_.rbegin(), held_.rend(), fragment);
        if (found == held_.rend()) return false;
        std::rotate(found.base() - 1, found.base(), held_.end());
        return true;
    }
    int fetch(std::uint64_t fragment) {
        ++misses_;
        if (held_.size() == entries_) held_.erase(held_.begin());
        held_.push_back(fragment);
        return miss_cycles_;
    }

    std::size_t entries_;
    unsigned shift_;
    int miss_cycles_;
    std::vector<std::uint64_t> held_;  // fragments, the one used last at the end
    std::uint64_t misses_ = 0;
};

}  // namespace hipscope
