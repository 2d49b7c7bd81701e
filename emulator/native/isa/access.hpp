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

/// Fills the access record; the addresses are written by the caller.
HIPSCOPE_INLINE void record(Wave& w, Space space, AccessKind kind, u32 bytes, u64 lanes, u8 addresses = 1) {
    w.access.space = space;
    w.access.kind = kind;
    w.access.bytes = static_cast<u8>(bytes);
    w.access.addresses = addresses;
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

/// True when lane i's address is the first one plus i * bytes, for all lanes.
HIPSCOPE_INLINE bool contiguous(const u64* address, u32 bytes) {
    u64 difference = 0;
    for (u32 i = 0; i < kLanes; ++i) difference |= address[i] ^ (address[0] + u64{i} * bytes);
    return difference == 0;
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
