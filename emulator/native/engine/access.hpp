// What one wave's memory access touched: distinct cache lines, LDS bank conflicts, lanes on the same address.
// In: Wave::access. Out: the few numbers that the observers add up and the caches are asked for.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/wave.hpp"
#include "engine/lds_rows.hpp"

namespace hipscope {

inline constexpr unsigned kLineBits = 7;    // 128-byte lines (of the L2; CDNA3's L1 has them too)
inline constexpr unsigned kSectorBits = 6;  // 64-byte halves, the size of write requests
inline constexpr unsigned kPartBits = 5;    // 32-byte parts, the size of partial writes to memory

/// Finds a 64-bit key among up to 128 known ones. Forgetting all of them costs nothing.
class KeyIndex {
public:
    void clear() {
        if (++now_ == 0) *this = KeyIndex();
    }
    /// Position of `key` in `keys`, or -1 after noting that the caller puts it at `position`.
    int find_or_add(std::uint64_t key, const std::uint64_t* keys, int position) {
        std::size_t slot = (key * 0x9e3779b97f4a7c15ULL) >> 56U;
        for (; stamp_[slot] == now_; slot = (slot + 1) & 255U)
            if (keys[at_[slot]] == key) return at_[slot];
        stamp_[slot] = now_;
        at_[slot] = static_cast<std::uint8_t>(position);
        return -1;
    }

private:
    std::uint16_t stamp_[256] = {};
    std::uint8_t at_[256];
    std::uint16_t now_ = 1;
};

inline constexpr int kMostLines = 2 * kLanes + 2;  // every lane may lie in two

/// What the lines of one access come to.
struct LineTotals {
    int count = 0;
    int sectors = 0;                          // distinct 64-byte halves
    int accesses = 0;                         // what the L1 counts as accesses (TCP_TOTAL_ACCESSES)
    int lookups = 0;                          // tag look-ups, one for each line of what is served together (TCP_TOTAL_CACHE_ACCESSES)
    int cycles = 0;                           // that the L1 needs for them
};

/// Distinct cache lines of one access, in order of first touch.
struct Lines : LineTotals {
    std::uint64_t line[kMostLines];           // address >> kLineBits
    std::uint8_t parts[kMostLines];           // bit 0 to 3: which 32 bytes were touched
    bool indexed = false;                     // else they follow each other
    bool ends_only = false;                   // of a run: only the first line and the parts of the first and the last one are filled in
    KeyIndex index;

    /// Fill in those of a run.
    void spell_out() {
        if (!ends_only) return;
        ends_only = false;
        for (int i = 1; i < count; ++i) line[i] = line[0] + static_cast<unsigned>(i);
        for (int i = 1; i < count - 1; ++i) parts[i] = 0xf;
    }

    /// Where a line of the access is.
    [[nodiscard]] int position(std::uint64_t of) {
        return indexed ? index.find_or_add(of, line, 0) : static_cast<int>(of - line[0]);
    }
};

/// How many 64-byte halves of a line a set of its 32-byte parts lies in.
inline int halves_of(unsigned parts) { return ((parts & 3U) != 0 ? 1 : 0) + ((parts & 12U) != 0 ? 1 : 0); }

/// Where the lanes of an earlier access were.
struct KnownLanes {
    std::uint64_t lanes = 0;  // 0: there was none
    std::uint8_t bytes = 0;
    bool teams = false;
    std::array<std::uint8_t, kTeams> step{};
    std::uint64_t address[kLanes];

    void keep(const MemoryAccess& access, std::size_t which);
};

/// What earlier accesses of one instruction to global memory came to. It depends on how the lanes' addresses lie to each
/// other and to the lines, so that an access that is one of these, moved by whole lines, need not be worked out again.
class KnownLines {
public:
    struct Entry {
        KnownLanes at;
        LineTotals totals;
        bool follow = false;        // the lines follow each other
        std::uint64_t again = 0;    // accesses that were found to be like this one, and are not added up yet
        std::uint64_t line[16];
        std::uint8_t parts[16];

        /// The lines of an access that was found here, moved by so many of them.
        void give(std::uint64_t moved, Lines& lines) const;
    };
    static constexpr int most_lines = std::extent_v<decltype(Entry::line)>;  // accesses to more of them are seldom alike

    /// The one that an access of lanes that do not simply follow each other is like, and by how many lines it is moved; or nullptr.
    Entry* find(const MemoryAccess& access, std::uint64_t& moved);
    /// Where an access with at most `most_lines` is kept. What is there goes.
    Entry& place_for(const MemoryAccess& access) { return entries_[place_of(access)]; }
    static void keep(Entry& entry, const MemoryAccess& access, const Lines& lines);

    [[nodiscard]] auto begin() const { return entries_.begin(); }
    [[nodiscard]] auto end() const { return entries_.end(); }

private:
    static constexpr std::size_t kPlaces = 1U << (kLineBits - kPartBits);  // one for each place in a line where they may start
    static std::size_t place_of(const MemoryAccess& access);

    std::array<Entry, kPlaces> entries_;
};

/// The lines of a run, an access to global memory of all lanes that starts at a multiple of four elements. But for the lines'
/// numbers all depends on where in its line it begins only.
inline void lines_of_run(std::uint64_t begin, unsigned bytes, Lines& lines) {
    constexpr unsigned parts = 1U << (kLineBits - kPartBits);
    const std::uint64_t last = begin + std::uint64_t{kLanes} * bytes - 1;
    const auto count = static_cast<int>((last >> kLineBits) - (begin >> kLineBits)) + 1;
    lines.indexed = false;
    lines.ends_only = true;
    lines.count = count;
    lines.sectors = static_cast<int>((last >> kSectorBits) - (begin >> kSectorBits)) + 1;
    lines.line[0] = begin >> kLineBits;
    lines.parts[0] = 0xf;
    lines.parts[count - 1] = static_cast<std::uint8_t>((2U << (last >> kPartBits) % parts) - 1U);
    lines.parts[0] &= static_cast<std::uint8_t>(0xfU << (begin >> kPartBits) % parts);
    // See count_lookups: a quarter of the lanes at a time, or four of those that are wider.
    lines.cycles = bytes > 4 ? kLanes / 4 : kLanes / 16;
    lines.accesses = bytes > 4 ? kLanes : kLanes / 4;
    lines.lookups = bytes > 4 ? kLanes / 4 : (begin & (16U * bytes - 1U)) == 0 ? 4 : 3 + count;
}

/// Those of any other access to global memory. The L1's banks hold blocks of 1 << `block_bits` bytes, a line at most.
void collect_lines(const MemoryAccess& access, unsigned block_bits, Lines& lines);

/// Cycles that the LDS needs for an access and those of them that bank conflicts add.
struct LdsCost {
    int cycles = 0;
    int conflicts = 0;
};

/// The bank conflicts of the last access of one instruction to LDS, for each of its addresses. Moved by whole words, it has
/// the same ones.
struct KnownConflicts {
    struct Entry {
        KnownLanes at;
        bool atomic = false;
        int conflicts = 0;
    };
    Entry entries[2];
};

LdsCost lds_cost(const MemoryAccess& access, const LdsRows& rows, KnownConflicts& known);

/// The last access of one instruction to LDS by teams. Its width, and how far its second address is from the first, are always the same.
struct KnownTeams {
    LdsCost cost;  // no cycles: there was none
    std::uint32_t step = 0;
    std::uint64_t first[kTeams] = {};
    std::uint64_t again = 0;  // accesses that were like it, and are not added up yet

    /// True when the access is the known one, moved by whole words: it costs the same.
    [[nodiscard]] bool moved_to(const MemoryAccess& access) const {
        const std::uint64_t by = access.address[0][0] - first[0];
        std::uint64_t wrong = (by & 3U) | (std::bit_cast<std::uint32_t>(access.step) ^ step);
        for (int t = 1; t < kTeams; ++t) wrong |= (access.address[0][t] - first[t]) ^ by;
        return wrong == 0 && cost.cycles != 0;
    }
    void keep(const MemoryAccess& access, const LdsCost& now) {
        cost = now;
        step = std::bit_cast<std::uint32_t>(access.step);
        std::copy_n(access.address[0], kTeams, first);
        again = 0;
    }
};

/// Lanes that share the address of an earlier lane of the same access (atomics are served one by one).
int same_address_lanes(const MemoryAccess& access, KeyIndex& index);

}  // namespace hipscope
