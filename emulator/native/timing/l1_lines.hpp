// The lines in a CU's L1, with least-recently-used replacement over all of them, and the time at which each line's data arrives.
//
// The hardware has sets of 64 lines, and how it chooses a line's set is not public. Any rule of our own would make some strides fill
// few sets and others all of them; this one is what a rule comes to that spreads every stride evenly.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hipscope {

class L1Lines {
public:
    struct Line {
        std::uint64_t number;
        std::int64_t filled;  // time from which the data is there
    };

    L1Lines(int bytes, int line_bytes)
        : capacity_(static_cast<std::uint16_t>(std::max(2, bytes / line_bytes))),
          shift_(16 - std::countr_zero(std::bit_ceil(2U * capacity_))),
          slots_(std::size_t{1} << (16 - shift_)),
          lines_(capacity_),
          neighbours_(capacity_) {}

    /// Have at hand what the search for a line looks at.
    void prefetch(std::uint64_t line) const { __builtin_prefetch(&slots_[home_of(tag_of(line))], 1); }

    /// The same of the entry that the next new line will have.
    void prefetch_entry() const { __builtin_prefetch(&lines_[used_ < capacity_ ? used_ : oldest_], 1); }

    /// The line's entry, now the most recently used, or nullptr.
    Line* find(std::uint64_t line) {
        if (used_ == 0) return nullptr;
        if (lines_[newest_].number == line) return &lines_[newest_];
        const std::uint16_t tag = tag_of(line);
        for (std::size_t slot = home_of(tag); slots_[slot].position != kFree; slot = after(slot)) {
            const std::uint16_t at = slots_[slot].position - 1U;
            if (slots_[slot].tag != tag || lines_[at].number != line) continue;
            use(at);
            return &lines_[at];
        }
        return nullptr;
    }
    /// Put in a line that is not there.
    Line& insert(std::uint64_t line) {
        std::uint16_t at = used_;
        if (used_ == 0) std::fill(slots_.begin(), slots_.end(), Slot{});
        if (used_ < capacity_) {
            append(used_++);
        } else {
            at = oldest_;
            remove(at);
            use(at);
        }
        const std::uint16_t tag = tag_of(line);
        std::size_t slot = home_of(tag);
        while (slots_[slot].position != kFree) slot = after(slot);
        slots_[slot] = {tag, static_cast<std::uint16_t>(at + 1U)};
        lines_[at] = {line, 0};
        return lines_[at];
    }
    /// Forget all lines.
    void clear() { used_ = 0; }

private:
    static constexpr std::uint16_t kFree = 0;

    /// Where a line is: open addressing, the next free slot from the one that its tag names.
    struct Slot {
        std::uint16_t tag = 0, position = kFree;  // position in `lines_` + 1
    };
    /// The lines by their last use, a list from the oldest to the newest.
    struct Neighbours {
        std::uint16_t older, newer;
    };

    /// Four lines that follow each other have slots that do, too.
    [[nodiscard]] static std::uint16_t tag_of(std::uint64_t line) {
        return static_cast<std::uint16_t>((((line >> 2U) * 0x9e3779b97f4a7c15ULL) >> 48U & 0xfffcU) | (line & 3U));
    }
    [[nodiscard]] std::size_t home_of(std::uint16_t tag) const {
        return (static_cast<std::size_t>(tag) >> static_cast<unsigned>(shift_) & ~std::size_t{3}) | (tag & 3U);
    }
    [[nodiscard]] std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    void append(std::uint16_t at) {
        if (at == 0) oldest_ = at;
        else neighbours_[newest_].newer = at;
        neighbours_[at].older = newest_;
        newest_ = at;
    }
    void use(std::uint16_t at) {
        if (at == newest_) return;
        const Neighbours old = neighbours_[at];
        if (at == oldest_) oldest_ = old.newer;
        else neighbours_[old.older].newer = old.newer;
        neighbours_[old.newer].older = old.older;
        neighbours_[newest_].newer = at;
        neighbours_[at].older = newest_;
        newest_ = at;
    }
    /// Take the line at a position out of the slots; those behind it that it kept from their places move up.
    void remove(std::uint16_t at) {
        std::size_t hole = home_of(tag_of(lines_[at].number));
        while (slots_[hole].position != at + 1) hole = after(hole);
        for (std::size_t next = after(hole); slots_[next].position != kFree; next = after(next)) {
            const std::size_t mask = slots_.size() - 1, home = home_of(slots_[next].tag);
            if (((next - home) & mask) < ((next - hole) & mask)) continue;
            slots_[hole] = slots_[next];
            hole = next;
        }
        slots_[hole] = {};
    }

    std::uint16_t capacity_, used_ = 0, oldest_ = 0, newest_ = 0;
    int shift_;
    std::vector<Slot> slots_;
    std::vector<Line> lines_;
    std::vector<Neighbours> neighbours_;
};

}  // namespace hipscope
