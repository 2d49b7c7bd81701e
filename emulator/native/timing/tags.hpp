// Set-associative cache tags with least-recently-used replacement, and the time at which each line arrives.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hipscope {

class Tags {
public:
    static constexpr std::uint64_t none = ~0ULL;

    struct Line {
        std::uint64_t number = none;
        std::int64_t filled = 0;  // time from which the data is there
        std::uint8_t dirty = 0;   // modified 32-byte parts
    };

    Tags(int bytes, int line_bytes, int ways)
        : ways_(static_cast<std::size_t>(ways)),
          sets_(std::bit_floor(static_cast<std::size_t>(std::max(1, bytes / line_bytes / ways)))),
          bits_(static_cast<unsigned>(std::countr_zero(sets_))),
          tags_(sets_ * ways_, kEmpty),
          used_(sets_ * ways_, 0),
          lines_(sets_ * ways_) {}

    /// The line's entry, now the most recently used of its set, or nullptr.
    Line* find(std::uint64_t line) {
        const std::size_t first = set_of(line) * ways_;
        const auto tag = static_cast<std::uint32_t>(line);
        const std::uint32_t* tags = tags_.data() + first;
        if (tags_[last_] == tag && last_ - first < ways_) return &lines_[last_];
        std::size_t hit = ways_;
        for (std::size_t way = 0; way < ways_; ++way)
            if (tags[way] == tag) hit = way;
        if (hit == ways_) return nullptr;
        last_ = first + hit;
        used_[last_] = ++clock_;
        return &lines_[last_];
    }
    /// Put a line in.
    Line& insert(std::uint64_t line) {
        Line ignored;
        return insert(line, ignored);
    }
    /// The same; `evicted` becomes the line that had to leave when it was modified.
    Line& insert(std::uint64_t line, Line& evicted) {
        const std::size_t first = set_of(line) * ways_;
        std::size_t victim = first;
        for (std::size_t at = first; at < first + ways_; ++at)
            if (used_[at] < used_[victim]) victim = at;
        if (tags_[victim] != kEmpty && lines_[victim].dirty != 0) evicted = lines_[victim];
        tags_[victim] = static_cast<std::uint32_t>(line);
        used_[victim] = ++clock_;
        lines_[victim] = {line, 0, 0};
        last_ = victim;
        return lines_[victim];
    }
    /// Call `take(line)` for every modified line and mark it clean.
    template <class Take>
    void clean(Take take) {
        for (Line& line : lines_)
            if (line.dirty != 0) {
                take(line);
                line.dirty = 0;
            }
    }
    void clear() {
        std::fill(tags_.begin(), tags_.end(), kEmpty);
        std::fill(used_.begin(), used_.end(), 0);
    }

private:
    static constexpr std::uint32_t kEmpty = ~0U;
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
    std::vector<std::uint32_t> tags_, used_;
    std::vector<Line> lines_;
    std::size_t last_ = 0;
    std::uint32_t clock_ = 0;
};

}  // namespace hipscope
