// Line de-duplication and the bank model. LDS: 32 banks of 4 bytes; the lanes that are served together are those of
// the CDNA ISA's conflict sets (32 lanes for up to 4 bytes, 16 for 8 bytes, 8 for 16 bytes).
#include "engine/access.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace hipscope {
namespace {

/// True when the active lanes are one run of lanes that touch consecutive elements.
bool consecutive(const MemoryAccess& access, const std::uint64_t* address, int first, int last) {
    const std::uint64_t mask = access.lanes >> static_cast<unsigned>(first);
    if ((mask & (mask + 1)) != 0) return false;
    const std::uint64_t start = address[first];
    std::uint64_t wrong = 0;
    for (int lane = first; lane <= last; ++lane)
        wrong |= address[lane] - start - static_cast<std::uint64_t>(lane - first) * access.bytes;
    return wrong == 0;
}

void add_range(std::uint64_t begin, std::uint64_t end, Lines& lines) {
    const std::uint64_t last_sector = (end - 1) >> kSectorBits;
    std::uint64_t sector = begin >> kSectorBits;
    lines.sectors += static_cast<int>(last_sector - sector + 1);
    while (sector <= last_sector) {
        const std::uint64_t line = sector >> 1U;
        std::uint8_t halves = 0;
        for (; sector <= last_sector && sector >> 1U == line; ++sector)
            halves = static_cast<std::uint8_t>(halves | (1U << (sector & 1U)));
        lines.line[lines.count] = line;
        lines.halves[lines.count++] = halves;
    }
}

/// Small open-addressed index from line to its position in `Lines`.
class Index {
public:
    Index() { slots_.fill(-1); }
    void add(std::uint64_t sector, Lines& lines) {
        const std::uint64_t line = sector >> 1U;
        const auto half = static_cast<std::uint8_t>(1U << (sector & 1U));
        std::size_t slot = (line * 0x9e3779b97f4a7c15ULL) >> 56U;
        for (;; slot = (slot + 1) & 255U) {
            const int at = slots_[slot];
            if (at < 0) {
                slots_[slot] = static_cast<std::int16_t>(lines.count);
                lines.line[lines.count] = line;
                lines.halves[lines.count++] = half;
                ++lines.sectors;
                return;
            }
            if (lines.line[at] != line) continue;
            if ((lines.halves[at] & half) == 0) ++lines.sectors;
            lines.halves[at] |= half;
            return;
        }
    }

private:
    std::array<std::int16_t, 256> slots_;
};

int set_conflicts(const std::uint32_t* dwords, const int* lanes, int count, std::uint64_t active, int per_lane) {
    std::uint32_t seen[32][32];
    std::uint8_t depth[32] = {};
    int worst = 0;
    for (int i = 0; i < count; ++i) {
        if (((active >> static_cast<unsigned>(lanes[i])) & 1U) == 0) continue;
        for (int part = 0; part < per_lane; ++part) {
            const std::uint32_t dword = dwords[lanes[i]] + static_cast<std::uint32_t>(part);
            const std::uint32_t bank = dword & 31U;
            int k = 0;
            while (k < depth[bank] && seen[bank][k] != dword) ++k;
            if (k < depth[bank]) continue;
            if (k < 32) seen[bank][depth[bank]++] = dword;
            worst = std::max(worst, static_cast<int>(depth[bank]));
        }
    }
    return worst > 0 ? worst - 1 : 0;
}

int atomic_conflicts(const std::uint32_t* dwords, const int* lanes, int count, std::uint64_t active) {
    std::uint8_t depth[32] = {};
    int worst = 0;
    for (int i = 0; i < count; ++i)
        if (((active >> static_cast<unsigned>(lanes[i])) & 1U) != 0)
            worst = std::max(worst, static_cast<int>(++depth[dwords[lanes[i]] & 31U]));
    return worst > 0 ? worst - 1 : 0;
}

struct ConflictSets {
    int sets, lanes_per_set;
    int lane[8][32];
};

constexpr ConflictSets sets_of(int sets, int per_set) {
    ConflictSets result{sets, per_set, {}};
    for (int s = 0; s < sets; ++s)
        for (int i = 0; i < per_set; ++i) result.lane[s][i] = s * per_set + i;
    return result;
}

constexpr ConflictSets kWord = sets_of(2, 32);
constexpr ConflictSets kDouble = sets_of(4, 16);
constexpr ConflictSets kQuad = [] {
    ConflictSets result{8, 8, {}};
    constexpr int first[4] = {0, 4, 8, 12};
    constexpr int second[4] = {20, 16, 28, 24};
    for (int half = 0; half < 2; ++half)
        for (int s = 0; s < 4; ++s)
            for (int i = 0; i < 4; ++i) {
                result.lane[half * 4 + s][i] = half * 32 + first[s] + i;
                result.lane[half * 4 + s][4 + i] = half * 32 + second[s] + i;
            }
    return result;
}();

}  // namespace

void collect_lines(const MemoryAccess& access, Lines& lines) {
    lines.count = 0;
    lines.sectors = 0;
    if (access.lanes == 0) return;
    const std::uint64_t* address = access.address[0];
    const int first = std::countr_zero(access.lanes);
    const int last = 63 - std::countl_zero(access.lanes);
    if (consecutive(access, address, first, last)) {
        add_range(address[first], address[last] + access.bytes, lines);
        return;
    }
    Index index;
    std::uint64_t previous = ~0ULL;
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t begin = address[std::countr_zero(rest)];
        const std::uint64_t end = (begin + access.bytes - 1) >> kSectorBits;
        for (std::uint64_t sector = begin >> kSectorBits; sector <= end; ++sector) {
            if (sector == previous) continue;
            index.add(sector, lines);
            previous = sector;
        }
    }
}

LdsCost lds_cost(const MemoryAccess& access) {
    LdsCost cost;
    if (access.lanes == 0) return cost;
    const bool atomic = access.kind == AccessKind::atomic || access.kind == AccessKind::atomic_return;
    const ConflictSets& sets = access.bytes <= 4 ? kWord : access.bytes <= 8 ? kDouble : kQuad;
    const int per_lane = (access.bytes + 3) / 4;
    const int first = std::countr_zero(access.lanes);
    const int last = 63 - std::countl_zero(access.lanes);
    for (int which = 0; which < access.addresses; ++which) {
        const std::uint64_t* address = access.address[which];
        cost.cycles += sets.sets;
        if (!atomic && access.bytes % 4 == 0 && consecutive(access, address, first, last)) continue;
        std::uint32_t dwords[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) dwords[lane] = static_cast<std::uint32_t>(address[lane] >> 2U);
        for (int s = 0; s < sets.sets; ++s)
            cost.conflicts += atomic ? atomic_conflicts(dwords, sets.lane[s], sets.lanes_per_set, access.lanes)
                                     : set_conflicts(dwords, sets.lane[s], sets.lanes_per_set, access.lanes, per_lane);
    }
    cost.cycles += cost.conflicts;
    return cost;
}

int same_address_lanes(const MemoryAccess& access) {
    std::uint64_t seen[kLanes];
    int distinct = 0;
    int shared = 0;
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t address = access.address[0][std::countr_zero(rest)];
        int k = distinct;  // the latest addresses first: runs are common
        while (k > 0 && seen[k - 1] != address) --k;
        if (k > 0) ++shared;
        else seen[distinct++] = address;
    }
    return shared;
}

}  // namespace hipscope
