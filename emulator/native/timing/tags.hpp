// Set-associative cache tags with least-recently-used replacement, and the time at which each line arrives.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace hipscope {

class Tags {
public:
    struct Line {
        std::uint64_t number;
        std::int64_t filled;  // time from which the data is there
        std::uint8_t dirty;   // modified 32-byte parts
    };

    Tags(int bytes, int line_bytes, int ways)
        : ways_(static_cast<std::size_t>(ways)),
          sets_(std::bit_floor(static_cast<std::size_t>(std::max(1, bytes / line_bytes / ways)))),
          bits_(static_cast<unsigned>(std::countr_zero(sets_))),
          order_(sets_),
          tags_(std::make_unique_for_overwrite<std::uint32_t[]>(sets_ * ways_)),
          neighbours_(std::make_unique_for_overwrite<Neighbours[]>(sets_ * ways_)),
          lines_(std::make_unique_for_overwrite<Line[]>(sets_ * ways_)) {}

    /// Have at hand what the search for a line looks at.
    void prefetch(std::uint64_t line) const {
        const std::size_t set = set_of(line), first = set * ways_;
        __builtin_prefetch(&order_[set], 1);
        __builtin_prefetch(&tags_[first], 1);
        __builtin_prefetch(&neighbours_[first], 1);
    }

    /// The line's entry, now the most recently used of its set, or nullptr.
    Line* find(std::uint64_t line) {
        const std::size_t set = set_of(line), first = set * ways_;
        const auto tag = static_cast<std::uint32_t>(line);
        const Order& order = order_[set];
        if (order.began != began_) return nullptr;
        if (tags_[first + order.newest] == tag) return &lines_[first + order.newest];
        const std::size_t way = way_of(tags_.get() + first, tag);
        if (way == ways_) return nullptr;
        use(set, way);
        return &lines_[first + way];
    }
    /// Put a line in.
    Line& insert(std::uint64_t line) {
        Line ignored{};
        return insert(line, ignored);
    }
    /// The same; `evicted` becomes the line that had to leave when it was modified.
    Line& insert(std::uint64_t line, Line& evicted) {
        const std::size_t set = set_of(line);
        if (order_[set].began != began_) empty(set);
        const std::size_t way = order_[set].oldest, at = set * ways_ + way;
        if (tags_[at] != kEmpty && lines_[at].dirty != 0) evicted = lines_[at];
        tags_[at] = static_cast<std::uint32_t>(line);
        use(set, way);
        lines_[at] = {line, 0, 0};
        return lines_[at];
    }
    /// Call `take(line)` for every modified line and mark it clean.
    template <class Take>
    void clean(Take take) {
        for (std::size_t set = 0; set < sets_; ++set) {
            if (order_[set].began != began_) continue;
            for (std::size_t at = set * ways_; at < (set + 1) * ways_; ++at)
                if (tags_[at] != kEmpty && lines_[at].dirty != 0) {
                    take(lines_[at]);
                    lines_[at].dirty = 0;
                }
        }
    }
    /// Forget all lines. Costs nothing: sets are emptied when they are used again.
    void clear() { ++began_; }

private:
    static constexpr std::uint32_t kEmpty = ~0U;

    /// A set's lines by their last use, a list from the oldest to the newest; the links are in `neighbours_`.
    struct Order {
        std::uint32_t began = 0;  // the `began_` that it belongs to; else the set is empty
        std::uint8_t oldest = 0, newest = 0;
    };
    struct Neighbours {
        std::uint8_t older, newer;
    };

    void empty(std::size_t set) {
        const std::size_t first = set * ways_;
        for (std::size_t way = 0; way < ways_; ++way) {
            tags_[first + way] = kEmpty;
            neighbours_[first + way] = {static_cast<std::uint8_t>(way - 1), static_cast<std::uint8_t>(way + 1)};
        }
        order_[set] = {began_, 0, static_cast<std::uint8_t>(ways_ - 1)};
    }
    /// Make `way` the newest of its set.
    void use(std::size_t set, std::size_t way) {
        Order& order = order_[set];
        if (order.newest == way) return;
        Neighbours* of = neighbours_.get() + set * ways_;
        const Neighbours old = of[way];
        if (order.oldest == way) order.oldest = old.newer;
        else of[old.older].newer = old.newer;
        of[old.newer].older = old.older;
        of[order.newest].newer = static_cast<std::uint8_t>(way);
        of[way].older = order.newest;
        order.newest = static_cast<std::uint8_t>(way);
    }
    /// Which of a set's ways has `tag`, or `ways_`.
    [[nodiscard]] std::size_t way_of(const std::uint32_t* tags, std::uint32_t tag) const {
        using Four [[gnu::vector_size(16)]] = std::uint32_t;
        std::size_t way = 0;
        for (; way + 4 <= ways_; way += 4) {
            Four four;
            std::memcpy(&four, tags + way, sizeof four);
            const auto equal = four == tag;
            std::uint64_t any[2];
            std::memcpy(any, &equal, sizeof any);
            if ((any[0] | any[1]) != 0) break;
        }
        while (way < ways_ && tags[way] != tag) ++way;
        return way;
    }
    /// All address bits folded into the set's number, so that strides spread evenly.
    [[nodiscard]] std::size_t set_of(std::uint64_t line) const {
        std::uint64_t folded = line;
        if (bits_ >= 8) {
            for (unsigned shift = bits_; shift < 40; shift += bits_) folded ^= line >> shift;
        } else {
            for (unsigned shift = 32; shift >= 2; shift /= 2) folded ^= folded >> shift;
        }
        return folded & (sets_ - 1);
    }

    std::size_t ways_, sets_;
    unsigned bits_;
    std::uint32_t began_ = 1;
    std::vector<Order> order_;
    // Of a set that is not empty; a launch that uses few sets touches little of them.
    std::unique_ptr<std::uint32_t[]> tags_;
    std::unique_ptr<Neighbours[]> neighbours_;
    std::unique_ptr<Line[]> lines_;
};

}  // namespace hipscope
