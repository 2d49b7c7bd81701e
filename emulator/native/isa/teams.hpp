// Accesses of all lanes whose addresses are evenly spaced in each sixteen of them, a team: those of one row of a small tile are.
// They take a few wide loads or stores for each team, and are noted by where the teams begin and how far their lanes are apart.
#pragma once

#include <algorithm>

#include "isa/access.hpp"

namespace hipscope::HIPSCOPE_ISA {

/// True when row[i] is row[0] + i * step for the lanes of each of `teams` teams; sums are 32 bits wide.
template <u32 step, int teams>
HIPSCOPE_INLINE bool in_steps(const u32* row) {
#if defined(__AVX512F__)
    constexpr int add_differences = 0xf6;  // a | (b ^ c)
    const __m512i steps = _mm512_setr_epi32(0, step, 2 * step, 3 * step, 4 * step, 5 * step, 6 * step, 7 * step, 8 * step, 9 * step, 10 * step,
                                            11 * step, 12 * step, 13 * step, 14 * step, 15 * step);
    __m512i different = _mm512_setzero_si512();
    for (int t = 0; t < teams; ++t) {
        const u32* team = row + t * kTeam;
        const __m512i expected = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(team[0])), steps);
        different = _mm512_ternarylogic_epi32(different, _mm512_loadu_si512(team), expected, add_differences);
    }
    return _mm512_test_epi32_mask(different, different) == 0;
#else
    u32 difference = 0;
    for (int t = 0; t < teams; ++t) {
        const u32* team = row + t * kTeam;
        for (u32 i = 0; i < kTeam; ++i) difference |= team[i] ^ (team[0] + i * step);
    }
    return difference == 0;
#endif
}

/// Bytes from one lane of a team to the next, where they are the same in all of `teams` teams: none, an element or a dword.
inline constexpr u32 no_step = ~u32{0};
template <class Format, int teams>
HIPSCOPE_INLINE u32 step_of(const u32* row) {
    const u32 step = row[1] - row[0];
    if (step == 0) return in_steps<0, teams>(row) ? 0 : no_step;
    if (step == Format::bytes) return in_steps<Format::bytes, teams>(row) ? Format::bytes : no_step;
    if (step == 4) return in_steps<4, teams>(row) ? 4 : no_step;
    return no_step;
}

/// How many bytes from its first address on a team reads or writes.
template <class Format>
constexpr u32 extent(u32 step) {
    return Format::bytes + (kTeam - 1) * step;
}

/// Where the teams of a wave begin, relative to something. They all have the same step.
template <u32 step_>
struct EqualTeams {
    u32 first[kTeams];

    HIPSCOPE_INLINE EqualTeams(const u32* row, u32 offset) {
        for (int t = 0; t < kTeams; ++t) first[t] = row[t * kTeam] + offset;
    }
    HIPSCOPE_INLINE static constexpr u32 step(int) { return step_; }
    /// Where the last of what they touch ends.
    template <class Format>
    [[nodiscard]] HIPSCOPE_INLINE u64 end() const {
        return u64{std::max(std::max(first[0], first[1]), std::max(first[2], first[3]))} + extent<Format>(step_);
    }
    /// True when each follows the one before and each lane too.
    template <class Format>
    [[nodiscard]] HIPSCOPE_INLINE bool one_run() const {
        constexpr u32 team = kTeam * Format::bytes;
        return step_ == Format::bytes && first[1] - first[0] == team && first[2] - first[1] == team && first[3] - first[2] == team;
    }
};
/// The same for teams that differ in their steps.
struct MixedTeams {
    u32 first[kTeams], steps[kTeams];

    [[nodiscard]] HIPSCOPE_INLINE u32 step(int t) const { return steps[t]; }
    template <class Format>
    [[nodiscard]] HIPSCOPE_INLINE u64 end() const {
        u64 end = 0;
        for (int t = 0; t < kTeams; ++t) end = std::max(end, u64{first[t]} + extent<Format>(steps[t]));
        return end;
    }
    template <class Format>
    [[nodiscard]] HIPSCOPE_INLINE static bool one_run() {
        return false;
    }
};

template <class Format, class Take>
[[gnu::noinline]] bool with_mixed_teams(const u32* row, u32 offset, Take take) {
    MixedTeams teams;
    for (int t = 0; t < kTeams; ++t) {
        teams.first[t] = row[t * kTeam] + offset;
        teams.steps[t] = step_of<Format, 1>(row + t * kTeam);
        if (teams.steps[t] == no_step) return false;
    }
    return take(teams);
}
/// What take(teams) gives for the addresses in `row` with `offset` added, 32 bits wide, or false when there are lanes that are not
/// evenly spaced.
template <class Format, class Take>
HIPSCOPE_INLINE bool with_teams(const u32* row, u32 offset, Take take) {
    if constexpr (!Format::whole) {
        return false;
    } else {
        const u32 step = step_of<Format, kTeams>(row);
        if (step == 0) return take(EqualTeams<0>(row, offset));
        if (step == Format::bytes) return take(EqualTeams<Format::bytes>(row, offset));
        if (step == 4) return take(EqualTeams<4>(row, offset));
        return with_mixed_teams<Format>(row, offset, take);
    }
}

/// Has the host fetch what the teams behind these want, as far behind them as they are behind each other: of the tile's next rows.
template <class Teams>
HIPSCOPE_INLINE void fetch_next(const Teams& teams, u64 base) {
    const u32 distance = kTeams * (teams.first[1] - teams.first[0]);
    for (int t = 0; t < kTeams; ++t) __builtin_prefetch(reinterpret_cast<const void*>(base + (teams.first[t] + distance)));
}

/// What the teams' places are relative to comes last, for each address that a lane has.
template <class Format, Space space, AccessKind kind, class Teams, class... Base>
HIPSCOPE_INLINE void record_teams(Wave& w, const Teams& teams, Base... base) {
    record(w, space, kind, Format::bytes, ~u64{0}, sizeof...(base));
    w.access.teams = true;
    u32 steps = 0;  // in one piece, as they are read
    for (int t = 0; t < kTeams; ++t) steps |= teams.step(t) << 8 * t;
    w.access.step = std::bit_cast<std::array<u8, kTeams>>(steps);
    u64* address = w.access.address[0];
    const auto begin = [&](u64 from) {
        for (int t = 0; t < kTeams; ++t) address[t] = from + teams.first[t];
        address += kLanes;
    };
    (begin(base), ...);
}

/// Moves the dwords of a team in one piece: what is stored in several is not handed on to a load of the whole that follows soon.
HIPSCOPE_INLINE void copy_team(void* to, const void* from) {
#if defined(__AVX512F__)
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
#else
    std::memcpy(to, from, kTeam * sizeof(u32));
#endif
}
HIPSCOPE_INLINE void fill_team(u32* to, u32 value) {
#if defined(__AVX512F__)
    _mm512_storeu_si512(to, _mm512_set1_epi32(static_cast<int>(value)));
#else
    for (int i = 0; i < kTeam; ++i) to[i] = value;
#endif
}

/// load_lane for the lanes of a team, from `lane` on, whose first one is at `from`.
template <class Format>
HIPSCOPE_INLINE void load_team(const void* from, u32 step, u32 (*to)[kLanes], int lane) {
    const auto* dwords = static_cast<const LooseDword*>(from);
    if (step == 0) {
        for (int d = 0; d < Format::dwords; ++d) fill_team(to[d] + lane, dwords[d]);
    } else if (step == 4) {
        for (int d = 0; d < Format::dwords; ++d) copy_team(to[d] + lane, dwords + d);
    } else {
        HIPSCOPE_INDEPENDENT for (int i = 0; i < kTeam; ++i) {
            for (int d = 0; d < Format::dwords; ++d) to[d][lane + i] = dwords[i * Format::dwords + d];
        }
    }
}
/// store_lane for the lanes of a team. Where lanes overlap, the last one counts, so only whole elements go together.
template <class Format>
HIPSCOPE_INLINE void store_team(void* to, u32 step, const u32 (*from)[kLanes], int lane) {
    if (step != Format::bytes) {
        for (u32 i = 0; i < kTeam; ++i) store_lane<Format>(static_cast<u8*>(to) + i * step, from, lane + static_cast<int>(i));
    } else if constexpr (Format::dwords == 1) {
        copy_team(to, from[0] + lane);
    } else {
        auto* dwords = static_cast<LooseDword*>(to);
        HIPSCOPE_INDEPENDENT for (int i = 0; i < kTeam; ++i) {
            for (int d = 0; d < Format::dwords; ++d) dwords[i * Format::dwords + d] = from[d][lane + i];
        }
    }
}

template <class Format, class Teams>
HIPSCOPE_INLINE void load_teams(const Teams& teams, u64 base, u32 (*to)[kLanes]) {
    for (int t = 0; t < kTeams; ++t) load_team<Format>(reinterpret_cast<const void*>(base + teams.first[t]), teams.step(t), to, t * kTeam);
}
template <class Format, class Teams>
HIPSCOPE_INLINE void store_teams(const Teams& teams, u64 base, const u32 (*from)[kLanes]) {
    for (int t = 0; t < kTeams; ++t) store_team<Format>(reinterpret_cast<void*>(base + teams.first[t]), teams.step(t), from, t * kTeam);
}

}  // namespace hipscope::HIPSCOPE_ISA
