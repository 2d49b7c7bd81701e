// Values that cross lanes: readlane, writelane, mbcnt, permutes through the LDS crossbar, swaps, accumulator moves.
#include "isa/families.hpp"
#include "isa/scalars.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

Step read_lane(Wave& w, const Instruction& in, u32 lane) {
    const Operand& o = in.source[0];
    const bool vector = o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr;
    w.sgpr[in.destination[0].index] = vector ? w.vgpr[o.index][lane & 63U] : scalar32(w, o);
    return Step::next;
}

/// Number of mask bits below each lane, within one half of the wave, added to the second source.
template <u32 first>
Step count_below(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b;
    u64 active = w.exec();
    const Row mask = fetch<u32>(w, in, 0, a, active), add = fetch<u32>(w, in, 1, b, active);
    alignas(64) u32 out[kLanes];
    for (u32 i = 0; i < kLanes; ++i) {
        const u32 below = i <= first ? 0 : i >= first + 32 ? 32 : i - first;
        const u32 chosen = below == 32 ? ~0U : (1U << below) - 1U;
        out[i] = static_cast<u32>(std::popcount(mask.lo[i] & chosen)) + add.lo[i];
    }
    blend(w.vgpr[in.destination[0].index], out, active);
    return Step::next;
}

/// out[i] = data[lane[i] % 64].
HIPSCOPE_INLINE void gather_lanes(const u32* data, const u32* lane, u32* out) {
#if defined(__AVX512F__)
    const __m512i row[4] = {_mm512_loadu_si512(data), _mm512_loadu_si512(data + 16), _mm512_loadu_si512(data + 32), _mm512_loadu_si512(data + 48)};
    for (int i = 0; i < kLanes; i += 16) {
        const __m512i index = _mm512_loadu_si512(lane + i);
        const __m512i low = _mm512_permutex2var_epi32(row[0], index, row[1]), high = _mm512_permutex2var_epi32(row[2], index, row[3]);
        _mm512_storeu_si512(out + i, _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), high));
    }
#else
    for (int i = 0; i < kLanes; ++i) out[i] = data[lane[i] & 63U];
#endif
}

/// ds_bpermute: each lane reads the lane that its address names; lanes that are off give 0.
Step backward_permute(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    const u32* address = w.vgpr[in.source[0].index];
    alignas(64) u32 lane[kLanes], lit[kLanes], data[kLanes], out[kLanes];
    for (int i = 0; i < kLanes; ++i) lane[i] = (address[i] + static_cast<u32>(in.modifiers.offset)) >> 2U;
    expand_mask(active, lit);
    for (int i = 0; i < kLanes; ++i) data[i] = w.vgpr[in.source[1].index][i] & lit[i];
    gather_lanes(data, lane, out);
    blend(w.vgpr[in.destination[0].index], out, active);
    w.access.space = Space::none;
    return Step::next;
}
/// ds_permute: each active lane writes to the lane that its address names; the highest lane wins.
Step forward_permute(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    const u32* address = w.vgpr[in.source[0].index];
    const u32* data = w.vgpr[in.source[1].index];
    alignas(64) u32 out[kLanes] = {};
    for (u64 left = active; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left);
        out[((address[i] + static_cast<u32>(in.modifiers.offset)) >> 2U) & 63U] = data[i];
    }
    blend(w.vgpr[in.destination[0].index], out, active);
    w.access.space = Space::none;
    return Step::next;
}
/// ds_swizzle: a fixed pattern in the offset field: quad permute, or and/or/xor within 32 lanes, or rotation.
Step swizzle(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    const u32* data = w.vgpr[in.source[0].index];
    const u32 pattern = static_cast<u32>(in.modifiers.offset) & 0xffffU;
    alignas(64) u32 out[kLanes];
    for (u32 i = 0; i < kLanes; ++i) {
        u32 lane = i;
        if ((pattern & 0xf000U) == 0x8000U) {
            lane = (i & ~3U) | ((pattern >> (2U * (i & 3U))) & 3U);
        } else if ((pattern & 0xe000U) == 0xc000U) {  // rotate within 32 lanes
            const u32 mask = pattern & 31U, count = (pattern >> 5U) & 31U;
            const u32 turned = (pattern & 0x400U) != 0 ? i - count : i + count;
            lane = (i & 32U) | (i & mask) | (turned & 31U & ~mask);
        } else {
            const u32 keep = pattern & 31U, set = (pattern >> 5U) & 31U, flip = (pattern >> 10U) & 31U;
            lane = (i & 32U) | ((((i & 31U) & keep) | set) ^ flip);
        }
        out[i] = ((active >> lane) & 1U) != 0 ? data[lane] : 0;
    }
    blend(w.vgpr[in.destination[0].index], out, active);
    w.access.space = Space::none;
    return Step::next;
}

Step swap(Wave& w, const Instruction& in) {
    u32* a = w.vgpr[in.destination[0].index];
    u32* b = w.vgpr[in.source[0].index];
    for (u64 left = w.exec(); left != 0; left &= left - 1) std::swap(a[std::countr_zero(left)], b[std::countr_zero(left)]);
    return Step::next;
}

}  // namespace

Table lane_exchange() {
    static constexpr Entry rows[] = {
        special("v_readfirstlane_b32", Unit::valu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return read_lane(w, in, w.exec() == 0 ? 0U : static_cast<u32>(std::countr_zero(w.exec()))); }),
        special("v_readlane_b32", Unit::valu, 1, {Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { return read_lane(w, in, scalar32(w, in.source[1])); }),
        special("v_writelane_b32", Unit::valu, 1, {Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { w.vgpr[in.destination[0].index][scalar32(w, in.source[1]) & 63U] = scalar32(w, in.source[0]); return Step::next; }),
        special("v_mbcnt_lo_u32_b32", Unit::valu, 1, {Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { return count_below<0>(w, in); }),
        special("v_mbcnt_hi_u32_b32", Unit::valu, 1, {Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { return count_below<32>(w, in); }),
        special("v_swap_b32", Unit::valu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return swap(w, in); }),
        special("v_nop", Unit::valu, 0, {}, [](Wave&, const Instruction&) { return Step::next; }),
        special("ds_nop", Unit::lds, 0, {}, [](Wave& w, const Instruction&) { w.access.space = Space::none; return Step::next; }),
        special("ds_bpermute_b32", Unit::lds, 1, {Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { return backward_permute(w, in); }),
        special("ds_permute_b32", Unit::lds, 1, {Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { return forward_permute(w, in); }),
        special("ds_swizzle_b32", Unit::lds, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return swizzle(w, in); }),
        op("v_accvgpr_read_b32", Unit::valu, [](u32 a) { return a; }),
        op("v_accvgpr_write_b32", Unit::valu, [](u32 a) { return a; }),
        op("v_accvgpr_mov_b32", Unit::valu, [](u32 a) { return a; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
