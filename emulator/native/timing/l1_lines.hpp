// The lines in a CU's L1, with least-recently-used replacement in each set, and the time at which each line's data arrives.
//
// A line's set is told by the lowest bits of its number, as the documentation of Wave (a compiler for MI300) says of the four sets
// there: bits 7 and 8 of the address. Rows of a multiple of 512 bytes all share one set.
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

    L1Lines(int bytes, int line_bytes, int ways)
        : ways_(static_cast<std::uint16_t>(std::clamp(ways, 2, std::max(2, bytes / line_bytes)))),
          orders_(std::bit_floor(std::max<std::size_t>(1, static_cast<std::size_t>(bytes / line_bytes) / ways_))),
          shift_(16 - std::countr_zero(std::bit_ceil(2U * ways_ * orders_.size()))),
          slots_(std::size_t{1} << (16 - shift_)),
          lines_(ways_ * orders_.size()),
          neighbours_(lines_.size()) {}

    /// Have at hand what the search for a line looks at.
    void prefetch(std::uint64_t line) const { __builtin_prefetch(&slots_[home_of(tag_of(line))], 1); }

    /// The same of the entry that the line will have if it is put in.
    void prefetch_entry(std::uint64_t line) const {
        const std::size_t set = set_of(line);
        const Order& order = orders_[set];
        __builtin_prefetch(&lines_[order.used < ways_ ? set * ways_ + order.used : order.oldest], 1);
    }

    /// The line's entry, now the most recently used, or nullptr.
    Line* find(std::uint64_t line) {
        Order& order = orders_[set_of(line)];
        if (order.used == 0) return nullptr;
        if (lines_[order.newest].number == line) return &lines_[order.newest];
        const std::uint16_t tag = tag_of(line);
        for (std::size_t slot = home_of(tag); slots_[slot].position != kFree; slot = after(slot)) {
            const std::uint16_t at = slots_[slot].position - 1U;
            if (slots_[slot].tag != tag || lines_[at].number != line) continue;
            use(order, at);
            return &lines_[at];
        }
        return nullptr;
    }
    /// Put in a line that is not there.
    Line& insert(std::uint64_t line) {
        const std::size_t set = set_of(line);
        Order& order = orders_[set];
        auto at = static_cast<std::uint16_t>(set * ways_ + order.used);
        if (empty_) std::fill(slots_.begin(), slots_.end(), Slot{});
        empty_ = false;
        if (order.used < ways_) {
            append(order, at);
            ++order.used;
        } else {
            at = order.oldest;
            remove(at);
            use(order, at);
        }
        const std::uint16_t tag = tag_of(line);
        std::size_t slot = home_of(tag);
        while (slots_[slot].position != kFree) slot = after(slot);
        slots_[slot] = {tag, static_cast<std::uint16_t>(at + 1U)};
        lines_[at] = {line, 0};
        return lines_[at];
    }
    /// Forget all lines.
    void clear() {
        std::fill(orders_.begin(), orders_.end(), Order{});
        empty_ = true;
    }

private:
    static constexpr std::uint16_t kFree = 0;

    /// Where a line is: open addressing, the next free slot from the one that its tag names.
    struct Slot {
        std::uint16_t tag = 0, position = kFree;  // position in `lines_` + 1
    };
    /// The lines of a set by their last use, a list from the oldest to the newest.
    struct Order {
        std::uint16_t used = 0, oldest = 0, newest = 0;
    };
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

    [[nodiscard]] std::size_t set_of(std::uint64_t line) const { return line & (orders_.size() - 1); }

    void append(Order& order, std::uint16_t at) {
        if (order.used == 0) order.oldest = at;
        else neighbours_[order.newest].newer = at;
        neighbours_[at].older = order.newest;
        order.newest = at;
    }
    void use(Order& order, std::uint16_t at) {
        if (at == order.newest) return;
        const Neighbours old = neighbours_[at];
        if (at == order.oldest) order.oldest = old.newer;
        else neighbours_[old.older].newer = old.newer;
        neighbours_[old.newer].older = old.older;
        neighbours_[order.newest].newer = at;
        neighbours_[at].older = order.newest;
        order.newest = at;
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

    std::uint16_t ways_;
    bool empty_ = true;

    std::vector<Order> orders_;  // of the sets
    int shift_;
    std::vector<Slot> slots_;
    std::vector<Line> lines_;
    std::vector<Neighbours> neighbours_;
};

}  // namespace hipscope
