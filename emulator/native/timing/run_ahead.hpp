// What a timed wave has executed before the clock is there: where its branches went and what its accesses touched. The
// clock reads it in order, so that it needs neither the wave's registers nor its memory, which have left the host's caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/instruction.hpp"
#include "timing/memory_path.hpp"

namespace hipscope {

/// One access, as the clock needs it.
struct NotedAccess {
    std::uint64_t where;       // global: the first line, or where its lines begin in the list; scalar: the address; LDS: cycles, and addresses from bit 32 on
    Space space;
    AccessKind kind;
    std::uint8_t bytes, lanes, l1_cycles, lines;
    std::uint8_t ends;         // parts of the first and (in the upper half) of the last line; those between are touched whole
    bool listed;               // its lines do not simply follow each other
};
static_assert(sizeof(NotedAccess) == 16);

/// The accesses of a wave that the clock has still to reach. The first ones lie here, where they can be prefetched.
class AccessNotes {
public:
    static constexpr std::uint32_t capacity = 512, line_capacity = 1024;

    void clear() {
        next_ = count_ = 0;
        if (!longer_) return;  // the rest is not at hand
        longer_ = false;
        more_.clear();
        line_.clear();
        parts_.clear();
    }
    /// Whether there is room for another one, whatever it touches.
    [[nodiscard]] bool room() const { return count_ < capacity && (!longer_ || line_.size() + kMostLines <= line_capacity); }
    /// `run`: its lines are known to follow each other, and only the ends are filled in.
    void add(const Touched& touched, bool run);
    /// The next one in order, which there is.
    [[nodiscard]] const NotedAccess& next() const { return next_ < kFirst ? first_[next_] : more_[next_ - kFirst]; }
    /// Call `take(line)` for the first lines, as many as are fetched ahead, of the next one, which goes to global memory.
    template <class Take>
    void first_lines(Take take) const {
        const NotedAccess& note = next();
        for (unsigned i = 0; i < std::min<unsigned>(note.lines, kFetchedAhead); ++i) take(note.listed ? line_[note.where + i] : note.where + i);
    }
    /// Go over it. `line` and `parts` have room for the lines of any; they and the notes outlive what is returned.
    Touched take(std::uint64_t* line, std::uint8_t* parts);
    void prefetch() const {
        const auto* at = reinterpret_cast<const char*>(this);
        __builtin_prefetch(at, 1);
        __builtin_prefetch(at + 64, 0);
    }

private:
    static constexpr std::uint32_t kFirst = 7;

    std::uint16_t next_ = 0, count_ = 0;
    bool longer_ = false;              // there is something in what follows `first_`
    NotedAccess first_[kFirst];
    std::vector<NotedAccess> more_;
    std::vector<std::uint64_t> line_;  // of those that are listed
    std::vector<std::uint8_t> parts_;
};

/// The instructions, of which most went on with the following one.
struct RunAhead {
    static constexpr std::uint32_t capacity = 2048, branch_capacity = 1024;

    std::uint16_t next = 0, count = 0;         // how many the clock has reached, and how many there are
    std::uint16_t next_branch = 0, branches = 0;
    std::uint32_t end = 0;                     // the wave's place in the code after the last one
    Step last = Step::next;                    // how the last one ended
    bool open = true;                          // which the others could follow: it went on, jumped or came to a barrier

    void clear() { *this = {}; }
    [[nodiscard]] bool used_up() const { return next == count; }
    [[nodiscard]] bool room() const { return open && count < capacity && branches < branch_capacity; }
};

/// One bit for each branch of a RunAhead: whether it was taken.
struct BranchNotes {
    std::uint64_t taken[RunAhead::branch_capacity / 64];

    void set(std::uint32_t branch, bool jumped) {
        std::uint64_t& word = taken[branch / 64];
        if (branch % 64 == 0) word = 0;
        word |= std::uint64_t{jumped} << (branch % 64);
    }
    [[nodiscard]] bool at(std::uint32_t branch) const { return ((taken[branch / 64] >> (branch % 64)) & 1U) != 0; }
};

inline void AccessNotes::add(const Touched& touched, bool run) {
    NotedAccess note{0, touched.space, touched.kind, touched.bytes, touched.lanes, static_cast<std::uint8_t>(touched.l1_cycles), 0, 0, false};
    switch (touched.space) {
        case Space::lds: note.where = static_cast<std::uint64_t>(touched.lds_cycles) | static_cast<std::uint64_t>(touched.lds_addresses) << 32U; break;
        case Space::scalar: note.where = touched.address; break;
        case Space::global: {
            const int lines = touched.lines;
            note.lines = static_cast<std::uint8_t>(lines);
            if (lines == 0) break;
            bool follow = true;
            for (int i = 1; i < lines && follow && !run; ++i)
                follow = touched.line[i] == touched.line[0] + static_cast<std::uint64_t>(i) && (i == lines - 1 || touched.parts[i] == 0xf);
            note.listed = !follow;
            if (follow) {
                note.where = touched.line[0];
                note.ends = static_cast<std::uint8_t>(touched.parts[0] | touched.parts[lines - 1] << 4U);
            } else {
                note.where = line_.size();
                longer_ = true;
                line_.insert(line_.end(), touched.line, touched.line + lines);
                parts_.insert(parts_.end(), touched.parts, touched.parts + lines);
            }
            break;
        }
        default: break;
    }
    if (count_++ < kFirst) {
        first_[count_ - 1] = note;
    } else {
        longer_ = true;
        more_.push_back(note);
    }
}

inline Touched AccessNotes::take(std::uint64_t* line, std::uint8_t* parts) {
    const NotedAccess& note = next();
    ++next_;
    Touched touched{note.space, note.kind, note.bytes, note.lanes, 0, 1, note.l1_cycles, note.lines, 0, line, parts, nullptr};
    switch (note.space) {
        case Space::lds:
            touched.lds_cycles = static_cast<int>(note.where & 0xffffffffU);
            touched.lds_addresses = static_cast<int>(note.where >> 32U);
            break;
        case Space::scalar: touched.address = note.where; break;
        case Space::global:
            if (note.listed) {
                touched.line = line_.data() + note.where;
                touched.parts = parts_.data() + note.where;
                break;
            }
            for (unsigned i = 0; i < note.lines; ++i) {
                line[i] = note.where + i;
                parts[i] = 0xf;
            }
            if (note.lines == 0) break;
            parts[note.lines - 1] = note.ends >> 4U;
            parts[0] = note.ends & 0xfU;
            break;
        default: break;
    }
    return touched;
}

}  // namespace hipscope
