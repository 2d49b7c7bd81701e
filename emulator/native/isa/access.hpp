// What the memory instructions share: lane addresses, bounds checks, element formats, the access record.
#pragma once

#include <cstring>

#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {

enum class Segment : u8 { global, flat, scratch };

/// Element formats: how many bytes an address names and how they meet the destination or data registers.
template <int dwords_>
struct Dwords {
    static constexpr int dwords = dwords_;
    static constexpr u32 bytes = dwords_ * 4;
    static constexpr bool whole = true;
};
enum class Half : u8 { replace, low, high };
/// A byte or short: extended to 32 bits, or merged into one half of the register (d16).
template <class T, Half half_>
struct Part {
    static constexpr int dwords = 1;
    static constexpr u32 bytes = sizeof(T);
    static constexpr bool whole = false;
    static constexpr Half half = half_;
    using Value = T;
};

template <class Format>
HIPSCOPE_INLINE void load_lane(const void* from, u32 (*to)[kLanes], int lane) {
    if constexpr (Format::whole) {
        u32 value[Format::dwords];
        std::memcpy(value, from, sizeof value);
        for (int d = 0; d < Format::dwords; ++d) to[d][lane] = value[d];
    } else {
        typename Format::Value value;
        std::memcpy(&value, from, sizeof value);
        const u32 wide = static_cast<u32>(static_cast<i32>(value));
        u32& r = to[0][lane];
        if constexpr (Format::half == Half::replace) r = wide;
        else if constexpr (Format::half == Half::low) r = (r & 0xffff0000U) | (wide & 0xffffU);
        else r = (r & 0xffffU) | (wide << 16U);
    }
}
/// A dword of memory at any address.
using LooseDword [[gnu::may_alias, gnu::aligned(1)]] = u32;

/// The same for all lanes, from elements that follow each other.
template <class Format>
HIPSCOPE_INLINE void load_run(const void* from, u32 (*to)[kLanes]) {
    if constexpr (Format::whole) {
        const auto* dwords = static_cast<const LooseDword*>(from);
        HIPSCOPE_EVERY_LANE {
            for (int d = 0; d < Format::dwords; ++d) to[d][i] = dwords[i * Format::dwords + d];
        }
    } else {
        const auto* parts = static_cast<const u8*>(from);
        HIPSCOPE_EVERY_LANE { load_lane<Format>(parts + static_cast<u32>(i) * Format::bytes, to, i); }
    }
}
template <class Format>
HIPSCOPE_INLINE void store_lane(void* to, const u32 (*from)[kLanes], int lane) {
    if constexpr (Format::whole) {
        u32 value[Format::dwords];
        for (int d = 0; d < Format::dwords; ++d) value[d] = from[d][lane];
        std::memcpy(to, value, sizeof value);
    } else {
        const u32 r = Format::half == Half::high ? from[0][lane] >> 16U : from[0][lane];
        const auto value = static_cast<typename Format::Value>(r);
        std::memcpy(to, &value, sizeof value);
    }
}

template <class Format>
HIPSCOPE_INLINE void store_run(void* to, const u32 (*from)[kLanes]) {
    if constexpr (Format::whole) {
        auto* dwords = static_cast<LooseDword*>(to);
        HIPSCOPE_EVERY_LANE {
            for (int d = 0; d < Format::dwords; ++d) dwords[i * Format::dwords + d] = from[d][i];
        }
    } else {
        auto* parts = static_cast<u8*>(to);
        HIPSCOPE_EVERY_LANE { store_lane<Format>(parts + static_cast<u32>(i) * Format::bytes, from, i); }
    }
}

/// Fills the access record; the addresses are written by the caller.
HIPSCOPE_INLINE void record(Wave& w, Space space, AccessKind kind, u32 bytes, u64 lanes, u8 addresses = 1) {
    w.access.space = space;
    w.access.kind = kind;
    w.access.bytes = static_cast<u8>(bytes);
    w.access.addresses = addresses;
    w.access.run = w.access.teams = false;
    w.access.lanes = lanes;
}

/// Addresses of a global or flat instruction: a 64-bit VGPR pair, or an SGPR base plus a 32-bit VGPR offset.
HIPSCOPE_INLINE void global_addresses(const Wave& w, const Instruction& in, int saddr, u64* address) {
    const u32* lo = w.vgpr[in.source[0].index];
    const u64 offset = static_cast<u64>(i64{in.modifiers.offset});
    if (in.modifiers.scalar_base) {
        const u64 base = scalar64(w, in.source[saddr]) + offset;
        for (int i = 0; i < kLanes; ++i) address[i] = base + lo[i];
    } else {
        const u32* hi = w.vgpr[in.source[0].index + 1];
        for (int i = 0; i < kLanes; ++i) address[i] = (u64{lo[i]} | (u64{hi[i]} << 32U)) + offset;
    }
}

/// Has the host fetch what lies behind an access of a whole wave: where waves go through memory one after the other, the next one
/// wants it.
template <u32 bytes>
HIPSCOPE_INLINE void fetch_next(u64 first) {
    constexpr u32 line = 64;
    const auto* next = reinterpret_cast<const u8*>(first) + bytes;
    for (u32 at = 0; at < bytes; at += line) __builtin_prefetch(next + at);
}

/// True when row[i] is row[0] + i * bytes, for all lanes and without a wrap.
HIPSCOPE_INLINE bool consecutive(const u32* row, u32 bytes) {
    const u32 first = row[0];
    if (row[1] - first != bytes || first > ~u32{0} - (kLanes - 1) * bytes) return false;
#if defined(__AVX512F__)
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i expected = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)), _mm512_mullo_epi32(number, _mm512_set1_epi32(static_cast<int>(bytes))));
    u32 different = 0;
    for (u32 i = 0; i < kLanes; i += 16) {
        different |= _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(row + i), expected);
        expected = _mm512_add_epi32(expected, _mm512_set1_epi32(static_cast<int>(16 * bytes)));
    }
    return different == 0;
#else
    u32 difference = 0;
    for (u32 i = 0; i < kLanes; ++i) difference |= row[i] ^ (first + i * bytes);
    return difference == 0;
#endif
}

HIPSCOPE_INLINE bool all_same(const u32* row) {
#if defined(__AVX512F__)
    const __m512i first = _mm512_set1_epi32(static_cast<int>(row[0]));
    u32 different = 0;
    for (u32 i = 0; i < kLanes; i += 16) different |= _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(row + i), first);
    return different == 0;
#else
    u32 difference = 0;
    for (int i = 0; i < kLanes; ++i) difference |= row[i] ^ row[0];
    return difference == 0;
#endif
}

/// The address of lane 0 when those of all lanes follow each other, as coalesced code has it; else 0, which is no address.
HIPSCOPE_INLINE u64 start_of_run(const Wave& w, const Instruction& in, int saddr, u32 bytes) {
    const u32* lo = w.vgpr[in.source[0].index];
    if (!consecutive(lo, bytes)) return 0;
    const u64 start = lo[0] + static_cast<u64>(i64{in.modifiers.offset});
    if (in.modifiers.scalar_base) return scalar64(w, in.source[saddr]) + start;
    const u32* hi = w.vgpr[in.source[0].index + 1];
    return all_same(hi) ? start + (u64{hi[0]} << 32U) : 0;
}

/// An access of all lanes to elements that follow each other. The addresses are spelled out only where the lanes that the
/// L1 takes together may lie in two lines.
HIPSCOPE_INLINE void record_run(Wave& w, Space space, AccessKind kind, u32 bytes, u64 first) {
    record(w, space, kind, bytes, ~u64{0});
    w.access.address[0][0] = first;
    w.access.run = true;
    if (space == Space::global && first % (4U * bytes) != 0) [[unlikely]] w.access.spell_out();
}

/// The first lane of `active` whose access leaves every live block, or -1.
inline int first_invalid(const Memory& memory, const u64* address, u64 active, u32 bytes) {
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (!memory.valid(address[lane], bytes)) return lane;
    }
    return -1;
}

/// Lanes whose flat address lies in the LDS or the private aperture.
struct Apertures {
    u64 shared = 0, privately = 0;
};
inline Apertures apertures(const u64* address, u64 active) {
    Apertures a;
    for (int i = 0; i < kLanes; ++i) {
        const u64 bit = u64{1} << static_cast<u32>(i);
        if ((address[i] >> 32U) == (aperture::shared_base >> 32U)) a.shared |= bit;
        if ((address[i] >> 32U) == (aperture::private_base >> 32U)) a.privately |= bit;
    }
    a.shared &= active;
    a.privately &= active;
    return a;
}

/// Where one lane's scratch bytes are, or nullptr when [offset, offset + bytes) is not inside its private memory.
HIPSCOPE_INLINE void* scratch_pointer(const Wave& w, int lane, u32 offset, u32 bytes) {
    if (u64{offset} + bytes > w.scratch_per_lane) return nullptr;
    return w.scratch + static_cast<std::size_t>(lane) * w.scratch_per_lane + offset;
}
HIPSCOPE_INLINE void* lds_pointer(const Wave& w, u64 offset, u32 bytes) {
    return offset + bytes > w.lds_bytes ? nullptr : w.lds + offset;
}

/// Resolves every active lane of a flat or scratch access to a host pointer. False: Wave::fault is set.
bool resolve_flat(Wave& w, const u64* address, u64 active, u32 bytes, bool write, void** pointer);
bool resolve_scratch(Wave& w, const Instruction& in, int saddr, u64 active, u32 bytes, bool write, void** pointer);

}  // namespace hipscope::HIPSCOPE_ISA
