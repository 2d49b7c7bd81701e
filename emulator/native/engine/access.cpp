// Line de-duplication, and the LDS's bank conflicts: which lanes are served together, and from how many banks, are rows of the
// device table.
#include "engine/access.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/widest.hpp"

namespace hipscope {
namespace {

/// True when all 64 addresses are `step` apart.
HIPSCOPE_WIDEST bool evenly_spaced(const std::uint64_t* address, std::uint64_t step) {
    const std::uint64_t start = address[0];
    std::uint64_t wrong = 0;
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) wrong |= address[lane] - start - lane * step;
    return wrong == 0;
}

/// True when the active lanes are one run of lanes that touch consecutive elements.
bool consecutive(const MemoryAccess& access, const std::uint64_t* address, int first, int last) {
    if (access.lanes == ~0ULL) return evenly_spaced(address, access.bytes);
    const std::uint64_t mask = access.lanes >> static_cast<unsigned>(first);
    if ((mask & (mask + 1)) != 0) return false;
    const std::uint64_t start = address[first];
    std::uint64_t wrong = 0;
    for (int lane = first; lane <= last; ++lane)
        wrong |= address[lane] - start - static_cast<std::uint64_t>(lane - first) * access.bytes;
    return wrong == 0;
}

HIPSCOPE_WIDEST bool all_moved(const std::uint64_t* address, const std::uint64_t* before, std::uint64_t by) {
    std::uint64_t wrong = 0;
    for (int lane = 0; lane < kLanes; ++lane) wrong |= (address[lane] - before[lane]) ^ by;
    return wrong == 0;
}

/// The same of some lanes only.
HIPSCOPE_WIDEST bool some_moved(const std::uint64_t* address, const std::uint64_t* before, std::uint64_t lanes, std::uint64_t by) {
    std::uint64_t wrong = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) wrong |= (address[lane] - before[lane] - by) & (0 - ((lanes >> lane) & 1U));
    return wrong == 0;
}

[[gnu::noinline]] bool lanes_moved(const KnownLanes& known, const MemoryAccess& access, std::size_t which, std::uint64_t unit) {
    if (known.lanes == 0 || known.lanes != access.lanes || known.bytes != access.bytes || known.teams) return false;
    const auto first = static_cast<std::size_t>(std::countr_zero(known.lanes));
    const std::uint64_t by = access.address[which][first] - known.address[first];
    if ((by & (unit - 1)) != 0) return false;
    return known.lanes == ~0ULL ? all_moved(access.address[which], known.address, by)
                                : some_moved(access.address[which], known.address, known.lanes, by);
}

bool teams_moved(const KnownLanes& known, const MemoryAccess& access, std::size_t which, std::uint64_t unit) {
    const std::uint64_t* address = access.address[which];
    const std::uint64_t by = address[0] - known.address[0];
    std::uint64_t wrong = by & (unit - 1);
    for (int t = 1; t < kTeams; ++t) wrong |= (address[t] - known.address[t]) ^ by;
    const bool same_steps = std::bit_cast<std::uint32_t>(known.step) == std::bit_cast<std::uint32_t>(access.step);
    return wrong == 0 && same_steps && known.teams && known.bytes == access.bytes;
}

/// True when the lanes' addresses, at `address[which]`, are the known ones, all moved by a multiple of `unit` bytes, a power of two.
bool moved(const KnownLanes& known, const MemoryAccess& access, std::size_t which, std::uint64_t unit) {
    return access.teams ? teams_moved(known, access, which, unit) : lanes_moved(known, access, which, unit);
}

/// The lines of [begin, end), which are the first ones.
void add_range(std::uint64_t begin, std::uint64_t end, Lines& lines) {
    const std::uint64_t first = begin >> kLineBits, last = (end - 1) >> kLineBits;
    const auto count = static_cast<int>(last - first) + 1;
    constexpr int usual = kLanes * 16 / (1 << kLineBits) + 2;  // this many at once cost less than so many one by one
    for (int i = 0; i < usual; ++i) {
        lines.line[i] = first + static_cast<unsigned>(i);
        lines.parts[i] = 0xf;
    }
    for (int i = usual; i < count; ++i) {
        lines.line[i] = first + static_cast<unsigned>(i);
        lines.parts[i] = 0xf;
    }
    constexpr std::uint64_t parts = 1U << (kLineBits - kPartBits);
    lines.parts[count - 1] = static_cast<std::uint8_t>((2U << ((end - 1) >> kPartBits) % parts) - 1U);
    lines.parts[0] &= static_cast<std::uint8_t>(0xfU << (begin >> kPartBits) % parts);
    lines.count = count;
    lines.sectors = static_cast<int>(((end - 1) >> kSectorBits) - (begin >> kSectorBits)) + 1;
}

void add_part(std::uint64_t part, Lines& lines) {
    const std::uint64_t line = part >> 2U;
    const auto bit = static_cast<std::uint8_t>(1U << (part & 3U));
    const unsigned half = (part & 2U) != 0 ? 12U : 3U;
    const int at = lines.index.find_or_add(line, lines.line, lines.count);
    if (at < 0) {
        lines.line[lines.count] = line;
        lines.parts[lines.count++] = bit;
        ++lines.sectors;
        return;
    }
    if ((lines.parts[at] & half) == 0) ++lines.sectors;
    lines.parts[at] |= bit;
}

/// What the L1 serves together: up to four requests, each of four neighbouring lanes of up to 4 bytes that lie within 16 bytes, or
/// of one lane. It takes as many cycles as one of its four banks has different blocks to look up, or as one of the columns of
/// words in a block has different words to read, whichever is more.
class Together {
public:
    static constexpr int kBanks = 4;

    explicit Together(unsigned block_bits) : block_bits_(block_bits), last_column_((1U << block_bits >> 2U) - 1) {}

    void add(std::uint64_t begin, std::uint64_t end) {
        ++requests_;
        const std::uint64_t last = end - 1;
        const std::uint64_t first_block = begin >> block_bits_, last_block = last >> block_bits_;
        const std::uint32_t up_to = ~0U >> (31U - (last >> 2U & last_column_)), onwards = ~0U << (begin >> 2U & last_column_);
        add_columns(first_block, first_block == last_block ? up_to & onwards : onwards);
        if (first_block != last_block) add_columns(last_block, up_to);
    }
    /// Count them and begin anew.
    void serve(LineTotals& totals) {
        if (requests_ == 0) return;
        totals.accesses += requests_;
        totals.lookups += lines();
        totals.cycles += std::max(most_of_a_bank(), most_of_a_column());
        requests_ = blocks_ = 0;
    }

private:
    static constexpr int kMostBlocks = 8;  // two of each request

    void add_columns(std::uint64_t block, std::uint32_t columns) {
        int at = 0;
        while (at < blocks_ && block_[at] != block) ++at;
        if (at == blocks_) {
            block_[blocks_++] = block;
            columns_[at] = 0;
        }
        columns_[at] |= columns;
    }
    [[nodiscard]] int lines() const {
        int different = 0;
        for (int i = 0; i < blocks_; ++i) {
            bool again = false;
            for (int j = 0; j < i; ++j) again = again || block_[j] >> (kLineBits - block_bits_) == block_[i] >> (kLineBits - block_bits_);
            different += again ? 0 : 1;
        }
        return different;
    }
    [[nodiscard]] int most_of_a_bank() const {
        std::array<int, kBanks> blocks{};
        for (int i = 0; i < blocks_; ++i) ++blocks[block_[i] % kBanks];
        return std::ranges::max(blocks);
    }
    [[nodiscard]] int most_of_a_column() const {
        std::uint32_t in_more_than[kMostBlocks] = {};  // columns of more than so many blocks
        int most = 0;
        for (int i = 0; i < blocks_; ++i) {
            for (int k = most; k > 0; --k) in_more_than[k] |= in_more_than[k - 1] & columns_[i];
            in_more_than[0] |= columns_[i];
            while (most < kMostBlocks && in_more_than[most] != 0) ++most;
        }
        return most;
    }

    unsigned block_bits_, last_column_;
    int requests_ = 0, blocks_ = 0;
    std::uint64_t block_[kMostBlocks];
    std::uint32_t columns_[kMostBlocks];  // of it that are read
};

/// The active ones of four neighbouring lanes, when they lie within 16 bytes: the L1 takes them as one.
bool add_quad(const MemoryAccess& access, int quad, unsigned active, Together& together) {
    std::uint64_t begin = ~0ULL, last = 0;
    for (unsigned k = 0; k < 4; ++k) {
        if (((active >> k) & 1U) == 0) continue;
        begin = std::min(begin, access.address[0][quad + static_cast<int>(k)]);
        last = std::max(last, access.address[0][quad + static_cast<int>(k)]);
    }
    if (last + access.bytes - begin > 16) return false;
    together.add(begin, last + access.bytes);
    return true;
}

/// Sixteen lanes of up to 4 bytes: four quads, side by side. A quad whose lanes lie apart comes lane by lane.
void count_sixteen(const MemoryAccess& access, int first, Together& together, Lines& lines) {
    unsigned apart = 0;
    for (int quad = first; quad < first + 16; quad += 4) {
        const unsigned active = (access.lanes >> static_cast<unsigned>(quad)) & 0xfU;
        if (active != 0 && !add_quad(access, quad, active, together)) apart |= active << static_cast<unsigned>(quad - first);
    }
    for (int k = 0; k < 4; ++k) {
        for (int quad = 0; quad < 16; quad += 4) {
            if (((apart >> static_cast<unsigned>(quad + k)) & 1U) == 0) continue;
            const std::uint64_t address = access.address[0][first + quad + k];
            together.add(address, address + access.bytes);
        }
        together.serve(lines);
    }
}

/// How many of four values at most are different and share a place: their bits in `place`.
std::uint64_t most_in_a_place(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t place) {
    const std::uint64_t ab = a ^ b, ac = a ^ c, ad = a ^ d, bc = b ^ c, bd = b ^ d, cd = c ^ d;
    const auto differ = [](std::uint64_t x) { return std::uint64_t{x != 0}; };
    const auto meet = [place](std::uint64_t x) { return std::uint64_t{(x & place) == 0}; };
    const std::uint64_t new_b = differ(ab), new_c = differ(ac) & differ(bc), new_d = differ(ad) & differ(bd) & differ(cd);
    const std::uint64_t at_b = new_b + (new_b & meet(ab));
    const std::uint64_t at_c = new_c + (new_c & meet(ac)) + (new_c & new_b & meet(bc));
    const std::uint64_t at_d = new_d + (new_d & meet(ad)) + (new_d & new_b & meet(bd)) + (new_d & new_c & meet(cd));
    return std::max(std::max(std::uint64_t{1}, at_b), std::max(at_c, at_d));
}

std::uint64_t how_many_differ(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return std::uint64_t{1} + (a != b) + ((a != c) & (b != c)) + ((a != d) & (b != d) & (c != d));
}

/// True when no four neighbouring lanes lie within 16 bytes, and each lane lies in one word.
HIPSCOPE_WIDEST bool all_apart(const std::uint64_t* address, unsigned bytes) {
    std::uint64_t together = 0, across = 0;
    for (int quad = 0; quad < kLanes; quad += 4) {
        const std::uint64_t* a = address + quad;
        const std::uint64_t begin = std::min(std::min(a[0], a[1]), std::min(a[2], a[3]));
        const std::uint64_t last = std::max(std::max(a[0], a[1]), std::max(a[2], a[3]));
        together |= std::uint64_t{last + bytes - begin <= 16};
        across |= a[0] | a[1] | a[2] | a[3];
    }
    return together == 0 && (across & (bytes - 1)) == 0;
}

/// What `Together` comes to for a whole wave of lanes that are all apart, its sixteen groups at once.
HIPSCOPE_WIDEST void count_apart(const std::uint64_t* address, unsigned block_bits, Lines& lines) {
    constexpr int groups = kLanes / 4;
    std::uint64_t word[4][groups];
    for (int first = 0; first < kLanes; first += 16)
        for (int quad = 0; quad < 4; ++quad)
            for (int k = 0; k < 4; ++k) word[quad][first / 4 + k] = address[first + quad * 4 + k] >> 2U;
    const unsigned words_bits = block_bits - 2;
    const std::uint64_t column = (std::uint64_t{1} << words_bits) - 1;
    std::uint64_t lookups = 0, cycles = 0;
    for (int g = 0; g < groups; ++g) {
        const std::uint64_t a = word[0][g], b = word[1][g], c = word[2][g], d = word[3][g];
        constexpr unsigned line = kLineBits - 2;
        lookups += how_many_differ(a >> line, b >> line, c >> line, d >> line);
        cycles += std::max(most_in_a_place(a >> words_bits, b >> words_bits, c >> words_bits, d >> words_bits, Together::kBanks - 1),
                           most_in_a_place(a, b, c, d, column));
    }
    lines.accesses = kLanes;
    lines.lookups = static_cast<int>(lookups);
    lines.cycles = static_cast<int>(cycles);
}

/// What the L1 counts and how long it takes. The accesses and look-ups of coalesced words of 2, 4 and 8 bytes and of a wave whose
/// lanes all are in different lines are known from real counters of an MI300X, the cycles and what is served together
/// from a strided benchmark of an MI210 (113 of 114 patterns of 4 and 8 bytes, RRZE gpu-benches).
void count_lookups(const MemoryAccess& access, unsigned block_bits, Lines& lines) {
    if (access.bytes <= 4 && access.lanes == ~0ULL && all_apart(access.address[0], access.bytes))
        return count_apart(access.address[0], block_bits, lines);
    Together together(block_bits);
    if (access.bytes <= 4) {
        for (int first = 0; first < kLanes; first += 16)
            if ((access.lanes >> static_cast<unsigned>(first) & 0xffffU) != 0) count_sixteen(access, first, together, lines);
        return;
    }
    for (int quad = 0; quad < kLanes; quad += 4) {
        for (int lane = quad; lane < quad + 4; ++lane)
            if (((access.lanes >> static_cast<unsigned>(lane)) & 1U) != 0)
                together.add(access.address[0][lane], access.address[0][lane] + access.bytes);
        together.serve(lines);
    }
}

/// The same for all 64 lanes on consecutive elements that start at a multiple of four elements.
void count_consecutive_lookups(std::uint64_t begin, unsigned bytes, Lines& lines) {
    if (bytes > 4) {
        lines.accesses = kLanes;
        lines.lookups = lines.cycles = kLanes / 4;
        return;
    }
    lines.accesses = kLanes / 4;
    lines.cycles = kLanes / 16;
    for (unsigned group = 0; group < 4; ++group) {
        const std::uint64_t first = begin + std::uint64_t{group} * 16 * bytes;
        lines.lookups += first >> kLineBits == (first + 16 * bytes - 1) >> kLineBits ? 1 : 2;
    }
}

/// The lines of an access that is no run and whose addresses are spelled out.
void lines_of_lanes(const MemoryAccess& access, unsigned block_bits, Lines& lines) {
    const std::uint64_t* address = access.address[0];
    const int first = std::countr_zero(access.lanes);
    const int last = 63 - std::countl_zero(access.lanes);
    if (consecutive(access, address, first, last)) {
        add_range(address[first], address[last] + access.bytes, lines);
        if (access.lanes == ~0ULL && access.bytes <= 16 && address[0] % (4U * access.bytes) == 0)
            count_consecutive_lookups(address[0], access.bytes, lines);
        else
            count_lookups(access, block_bits, lines);
        return;
    }
    count_lookups(access, block_bits, lines);
    lines.indexed = true;
    lines.index.clear();
    std::uint64_t previous = ~0ULL;
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t begin = address[std::countr_zero(rest)];
        const std::uint64_t end = (begin + access.bytes - 1) >> kPartBits;
        for (std::uint64_t part = begin >> kPartBits; part <= end; ++part) {
            if (part == previous) continue;
            add_part(part, lines);
            previous = part;
        }
    }
}

int atomic_conflicts(const LdsRow& row, std::size_t set, const std::uint32_t* dwords, std::uint64_t active) {
    std::uint8_t depth[LdsRows::kMostBanks] = {};
    const auto& lanes = row.lane[set];
    int worst = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(row.lanes_per_set); ++i)
        if (((active >> lanes[i]) & 1U) != 0)
            worst = std::max(worst, static_cast<int>(++depth[dwords[lanes[i]] & static_cast<std::uint32_t>(row.banks - 1)]));
    return worst > 0 ? worst - 1 : 0;
}

bool is_atomic(const MemoryAccess& access) { return access.kind == AccessKind::atomic || access.kind == AccessKind::atomic_return; }

/// The bank conflicts of an access that is not known yet.
[[gnu::noinline]] int new_conflicts(const MemoryAccess& access, std::size_t which, const LdsRow& row, KnownConflicts::Entry& known) {
    const bool atomic = is_atomic(access);
    const std::uint64_t* address = access.address[which];
    std::uint64_t spelled_out[kLanes];
    if (access.teams) {
        access.spell_out_teams(which, spelled_out);
        address = spelled_out;
    }
    const int first = std::countr_zero(access.lanes), last = 63 - std::countl_zero(access.lanes);
    if (!atomic && row.run_conflicts == 0 && access.bytes % 4 == 0 && consecutive(access, address, first, last)) return 0;
    std::uint32_t dwords[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) dwords[lane] = static_cast<std::uint32_t>(address[lane] >> 2U);
    known.at.keep(access, which);
    known.atomic = atomic;
    known.conflicts = 0;
    const int per_lane = (access.bytes + 3) / 4;
    for (std::size_t set = 0; set < static_cast<std::size_t>(row.sets); ++set)
        known.conflicts += atomic ? atomic_conflicts(row, set, dwords, access.lanes) : set_conflicts(row, set, dwords, access.lanes, per_lane);
    return known.conflicts;
}

}  // namespace

void KnownLanes::keep(const MemoryAccess& access, std::size_t which) {
    lanes = access.lanes;
    bytes = access.bytes;
    teams = access.teams;
    step = access.step;
    std::copy_n(access.address[which], teams ? kTeams : kLanes, address);
}

std::size_t KnownLines::place_of(const MemoryAccess& access) {
    return (access.address[0][std::countr_zero(access.lanes)] >> kPartBits) % kPlaces;
}

KnownLines::Entry* KnownLines::find(const MemoryAccess& access, std::uint64_t& moved_by) {
    Entry& e = place_for(access);
    if (!moved(e.at, access, 0, 1U << kLineBits)) return nullptr;
    const auto first = static_cast<std::size_t>(std::countr_zero(access.lanes));
    moved_by = (access.address[0][first] >> kLineBits) - (e.at.address[first] >> kLineBits);
    return &e;
}

void KnownLines::keep(Entry& e, const MemoryAccess& access, const Lines& lines) {
    e.at.keep(access, 0);
    e.totals = lines;
    e.follow = true;
    for (int i = 1; i < lines.count; ++i) e.follow = e.follow && lines.line[i] == lines.line[0] + static_cast<unsigned>(i);
    e.again = 0;
    std::copy_n(lines.line, lines.count, e.line);
    std::copy_n(lines.parts, lines.count, e.parts);
}

void KnownLines::Entry::give(std::uint64_t moved, Lines& lines) const {
    lines.indexed = lines.ends_only = false;
    static_cast<LineTotals&>(lines) = totals;
    for (int i = 0; i < totals.count; ++i) lines.line[i] = line[i] + moved;
    std::copy_n(parts, totals.count, lines.parts);
}

void collect_lines(const MemoryAccess& access, unsigned block_bits, Lines& lines) {
    lines.count = lines.sectors = lines.accesses = lines.lookups = lines.cycles = 0;
    lines.indexed = lines.ends_only = false;
    if (access.lanes == 0) return;
    if (access.teams) {
        MemoryAccess spelled_out = access;
        spelled_out.spell_out();
        lines_of_lanes(spelled_out, block_bits, lines);
    } else {
        lines_of_lanes(access, block_bits, lines);
    }
}

LdsCost lds_cost(const MemoryAccess& access, const LdsRows& rows, KnownConflicts& known) {
    if (access.lanes == 0) return {};
    const bool atomic = is_atomic(access);
    const LdsRow& row = rows.of(access.kind, access.bytes);
    const int cycles = row.sets * access.addresses;
    int conflicts = 0;
    const int first = std::countr_zero(access.lanes);
    for (std::size_t which = 0; which < access.addresses; ++which) {
        const std::uint64_t* address = access.address[which];
        if (which == 1 && (address[first] - access.address[0][first]) % 4 == 0) {  // all are as far from the first ones
            conflicts *= 2;
            continue;
        }
        KnownConflicts::Entry& e = known.entries[which];
        if (e.atomic == atomic && moved(e.at, access, which, 4)) {
            conflicts += e.conflicts;
            continue;
        }
        conflicts += new_conflicts(access, which, row, e);
    }
    return {cycles + conflicts, conflicts};
}

int same_address_lanes(const MemoryAccess& access, KeyIndex& index) {
    std::uint64_t seen[kLanes];
    int distinct = 0;
    int shared = 0;
    index.clear();
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t address = access.address[0][std::countr_zero(rest)];
        if (index.find_or_add(address, seen, distinct) >= 0) ++shared;
        else seen[distinct++] = address;
    }
    return shared;
}

}  // namespace hipscope
