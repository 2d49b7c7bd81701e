// Packed arithmetic (VOP3P, manual section 12.12): two 16-bit or two 32-bit values per operand, mixed precision, dots.
#include "isa/families.hpp"
#include "isa/forms.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

HIPSCOPE_INLINE u16 word(u32 x) { return static_cast<u16>(x); }
HIPSCOPE_INLINE i16 sword(u16 x) { return static_cast<i16>(x); }
HIPSCOPE_INLINE u16 saturate_signed(i32 x) { return static_cast<u16>(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }
HIPSCOPE_INLINE u16 saturate_unsigned(i32 x) { return static_cast<u16>(x > 65535 ? 65535 : x < 0 ? 0 : x); }

template <u32 width, bool is_signed>
HIPSCOPE_INLINE i64 element(u32 x, u32 n) {
    const u32 part = (x >> (width * n)) & ((1U << width) - 1U);
    const u32 sign = 1U << (width - 1U);
    return is_signed ? i64{static_cast<i32>((part ^ sign) - sign)} : i64{part};
}
/// Sum of products of the 32/width elements of two registers, in wrapping 32-bit arithmetic.
template <u32 width, bool is_signed>
HIPSCOPE_INLINE u32 dot(u32 a, u32 b, u32 c) {
    u32 total = c;
    for (u32 n = 0; n < 32 / width; ++n) total += static_cast<u32>(element<width, is_signed>(a, n) * element<width, is_signed>(b, n));
    return total;
}
template <u32 width, bool is_signed>
u32 dot_saturated(u32 a, u32 b, u32 c) {
    i64 total = is_signed ? i64{static_cast<i32>(c)} : i64{c};
    for (u32 n = 0; n < 32 / width; ++n) total += element<width, is_signed>(a, n) * element<width, is_signed>(b, n);
    if (is_signed) return static_cast<u32>(total > 0x7fffffffLL ? 0x7fffffffLL : total < -0x80000000LL ? -0x80000000LL : total);
    return static_cast<u32>(total > 0xffffffffLL ? 0xffffffffLL : total);
}
/// Both halves again, after op_sel has chosen them.
HIPSCOPE_INLINE u32 whole(u16x2 a) { return u32{a.lo} | (u32{a.hi} << 16U); }
/// A denormal as zero with its sign.
HIPSCOPE_INLINE f32 without_denormals(f32 x) {
    const u32 b = bits<u32>(x);
    return bits<f32>((b & 0x7f800000U) == 0 ? b & 0x80000000U : b);
}
/// The low halves' product is added first (manual section 12.12); bfloat16's accumulator comes last. With halves denormal singles are
/// flushed whatever MODE says (LLVM's SITargetLowering::performFMACombine), and rounding is to nearest.
HIPSCOPE_INLINE f32 dot(f16x2 a, f16x2 b, f32 c) {
    return without_denormals(fma(widen(a.hi), widen(b.hi), fma(widen(a.lo), widen(b.lo), without_denormals(c))));
}
HIPSCOPE_INLINE f32 dot_bfloat(u16x2 a, u16x2 b, f32 c) { return add(fma(widen_bfloat(a.hi), widen_bfloat(b.hi), mul(widen_bfloat(a.lo), widen_bfloat(b.lo))), c); }

/// A single-precision result as a half; of finite operands it is infinite by its size alone.
template <class Mode>
HIPSCOPE_INLINE f16 mixed_half(Mode m, f32 value, mixed a, mixed b, mixed c) {
    return m.limited(m.narrow(value), std::isfinite(a.value) && std::isfinite(b.value) && std::isfinite(c.value));
}

/// v_pk_mov_b32: op_sel picks a dword of the first source for the low result and of the second for the high one.
Step move_pair(Wave& w, const Instruction& in) {
    u32 value[2][kLanes];
    for (u32 k = 0; k < 2; ++k) {
        const Operand& o = in.source[k];
        const u32 part = (in.modifiers.op_sel >> k) & 1U;
        const bool vector = o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr;
        const u32 scalar = vector ? 0U : static_cast<u32>(scalar64(w, o) >> (32U * part));
        for (int i = 0; i < kLanes; ++i) value[k][i] = vector ? w.vgpr[o.index + part][i] : scalar;
    }
    blend(w.vgpr[in.destination[0].index], value[0], w.exec());
    blend(w.vgpr[in.destination[0].index + 1], value[1], w.exec());
    return Step::next;
}

}  // namespace

Table valu_packed() {
    static constexpr Entry rows[] = {
        number_op("v_pk_fma_f32", Unit::valu, []<class Nan>(f32x2 a, f32x2 b, f32x2 c) { return f32x2{Nan::of(fused(a.lo, b.lo, c.lo), a.lo, b.lo, c.lo), Nan::of(fused(a.hi, b.hi, c.hi), a.hi, b.hi, c.hi)}; }),
        number_op("v_pk_mul_f32", Unit::valu, []<class Nan>(f32x2 a, f32x2 b) { return f32x2{Nan::of(a.lo * b.lo, a.lo, b.lo), Nan::of(a.hi * b.hi, a.hi, b.hi)}; }),
        number_op("v_pk_add_f32", Unit::valu, []<class Nan>(f32x2 a, f32x2 b) { return f32x2{Nan::of(a.lo + b.lo, a.lo, b.lo), Nan::of(a.hi + b.hi, a.hi, b.hi)}; }),
        special("v_pk_mov_b32", Unit::valu, 1, {Type::b64, Type::b64}, [](Wave& w, const Instruction& in) { return move_pair(w, in); }),

        mode_op("v_pk_fma_f16", Unit::valu, [](auto m, f16x2 a, f16x2 b, f16x2 c) { return f16x2{m.fma(a.lo, b.lo, c.lo), m.fma(a.hi, b.hi, c.hi)}; }),
        mode_op("v_pk_fmac_f16", Unit::valu, [](auto m, f16x2 a, f16x2 b, f16x2 c) { return f16x2{m.fma(a.lo, b.lo, c.lo), m.fma(a.hi, b.hi, c.hi)}; }).accumulate(),
        mode_op("v_pk_add_f16", Unit::valu, [](auto m, f16x2 a, f16x2 b) { return f16x2{m.add(a.lo, b.lo), m.add(a.hi, b.hi)}; }),
        mode_op("v_pk_mul_f16", Unit::valu, [](auto m, f16x2 a, f16x2 b) { return f16x2{m.mul(a.lo, b.lo), m.mul(a.hi, b.hi)}; }),
        mode_op("v_pk_min_f16", Unit::valu, [](auto m, f16x2 a, f16x2 b) { return f16x2{m.min(a.lo, b.lo), m.min(a.hi, b.hi)}; }),
        mode_op("v_pk_max_f16", Unit::valu, [](auto m, f16x2 a, f16x2 b) { return f16x2{m.max(a.lo, b.lo), m.max(a.hi, b.hi)}; }),

        op("v_pk_mad_i16", Unit::valu, [](u16x2 a, u16x2 b, u16x2 c) { return u16x2{word(u32{a.lo} * b.lo + c.lo), word(u32{a.hi} * b.hi + c.hi)}; }),
        op("v_pk_mad_u16", Unit::valu, [](u16x2 a, u16x2 b, u16x2 c) { return u16x2{word(u32{a.lo} * b.lo + c.lo), word(u32{a.hi} * b.hi + c.hi)}; }),
        op("v_pk_mul_lo_u16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{word(u32{a.lo} * b.lo), word(u32{a.hi} * b.hi)}; }),
        op("v_pk_add_i16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{word(u32{a.lo} + b.lo), word(u32{a.hi} + b.hi)}; }),
        op("v_pk_add_u16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{word(u32{a.lo} + b.lo), word(u32{a.hi} + b.hi)}; }),
        op("v_pk_sub_i16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{word(u32{a.lo} - b.lo), word(u32{a.hi} - b.hi)}; }),
        op("v_pk_sub_u16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{word(u32{a.lo} - b.lo), word(u32{a.hi} - b.hi)}; }),
        op("v_pk_add_i16_clamp", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{saturate_signed(sword(a.lo) + sword(b.lo)), saturate_signed(sword(a.hi) + sword(b.hi))}; }),
        op("v_pk_add_u16_clamp", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{saturate_unsigned(a.lo + b.lo), saturate_unsigned(a.hi + b.hi)}; }),
        op("v_pk_sub_i16_clamp", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{saturate_signed(sword(a.lo) - sword(b.lo)), saturate_signed(sword(a.hi) - sword(b.hi))}; }),
        op("v_pk_sub_u16_clamp", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{saturate_unsigned(a.lo - b.lo), saturate_unsigned(a.hi - b.hi)}; }),
        op("v_pk_lshlrev_b16", Unit::valu, [](u16x2 n, u16x2 a) { return u16x2{word(u32{a.lo} << (n.lo & 15U)), word(u32{a.hi} << (n.hi & 15U))}; }),
        op("v_pk_lshrrev_b16", Unit::valu, [](u16x2 n, u16x2 a) { return u16x2{word(u32{a.lo} >> (n.lo & 15U)), word(u32{a.hi} >> (n.hi & 15U))}; }),
        op("v_pk_ashrrev_i16", Unit::valu, [](u16x2 n, u16x2 a) { return u16x2{static_cast<u16>(sword(a.lo) >> (n.lo & 15U)), static_cast<u16>(sword(a.hi) >> (n.hi & 15U))}; }),
        op("v_pk_min_i16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{static_cast<u16>(smaller(sword(a.lo), sword(b.lo))), static_cast<u16>(smaller(sword(a.hi), sword(b.hi)))}; }),
        op("v_pk_max_i16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{static_cast<u16>(larger(sword(a.lo), sword(b.lo))), static_cast<u16>(larger(sword(a.hi), sword(b.hi)))}; }),
        op("v_pk_min_u16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{smaller(a.lo, b.lo), smaller(a.hi, b.hi)}; }),
        op("v_pk_max_u16", Unit::valu, [](u16x2 a, u16x2 b) { return u16x2{larger(a.lo, b.lo), larger(a.hi, b.hi)}; }),

        mode_op("v_fma_mix_f32", Unit::valu, [](auto m, mixed a, mixed b, mixed c) { return m.fma(a.value, b.value, c.value); }),
        mode_op("v_mad_mix_f32", Unit::valu, [](auto m, mixed a, mixed b, mixed c) { return m.add(m.mul(a.value, b.value), c.value); }),
        mode_op("v_fma_mixlo_f16", Unit::valu, [](auto m, mixed a, mixed b, mixed c) { return mixed_half(m, m.fma(a.value, b.value, c.value), a, b, c); }).keep_high(),
        mode_op("v_fma_mixhi_f16", Unit::valu, [](auto m, mixed a, mixed b, mixed c) { return mixed_half(m, m.fma(a.value, b.value, c.value), a, b, c); }).keep_high().to_upper_half(),
        mode_op("v_mad_mixlo_f16", Unit::valu, [](auto m, mixed a, mixed b, mixed c) { return mixed_half(m, m.add(m.mul(a.value, b.value), c.value), a, b, c); }).keep_high(),
        mode_op("v_mad_mixhi_f16", Unit::valu, [](auto m, mixed a, mixed b, mixed c) { return mixed_half(m, m.add(m.mul(a.value, b.value), c.value), a, b, c); }).keep_high().to_upper_half(),

        fixed_op("v_dot2_f32_f16", Unit::valu, [](f16x2 a, f16x2 b, f32 c) { return dot(a, b, c); }),
        fixed_op("v_dot2c_f32_f16", Unit::valu, [](f16x2 a, f16x2 b, f32 c) { return dot(a, b, c); }).accumulate(),
        op("v_dot2_f32_bf16", Unit::valu, [](u16x2 a, u16x2 b, f32 c) { return dot_bfloat(a, b, c); }),
        op("v_dot2_i32_i16", Unit::valu, [](u16x2 a, u16x2 b, u32 c) { return dot<16, true>(whole(a), whole(b), c); }),
        op("v_dot2_u32_u16", Unit::valu, [](u16x2 a, u16x2 b, u32 c) { return dot<16, false>(whole(a), whole(b), c); }),
        op("v_dot4_i32_i8", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<8, true>(a, b, c); }),
        op("v_dot4_u32_u8", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<8, false>(a, b, c); }),
        op("v_dot8_i32_i4", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<4, true>(a, b, c); }),
        op("v_dot8_u32_u4", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<4, false>(a, b, c); }),
        op("v_dot2_i32_i16_clamp", Unit::valu, [](u16x2 a, u16x2 b, u32 c) { return dot_saturated<16, true>(whole(a), whole(b), c); }),
        op("v_dot2_u32_u16_clamp", Unit::valu, [](u16x2 a, u16x2 b, u32 c) { return dot_saturated<16, false>(whole(a), whole(b), c); }),
        op("v_dot4_i32_i8_clamp", Unit::valu, [](u32 a, u32 b, u32 c) { return dot_saturated<8, true>(a, b, c); }),
        op("v_dot4_u32_u8_clamp", Unit::valu, [](u32 a, u32 b, u32 c) { return dot_saturated<8, false>(a, b, c); }),
        op("v_dot8_i32_i4_clamp", Unit::valu, [](u32 a, u32 b, u32 c) { return dot_saturated<4, true>(a, b, c); }),
        op("v_dot8_u32_u4_clamp", Unit::valu, [](u32 a, u32 b, u32 c) { return dot_saturated<4, false>(a, b, c); }),
        op("v_dot2c_i32_i16", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<16, true>(a, b, c); }).accumulate(),
        op("v_dot4c_i32_i8", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<8, true>(a, b, c); }).accumulate(),
        op("v_dot8c_i32_i4", Unit::valu, [](u32 a, u32 b, u32 c) { return dot<4, true>(a, b, c); }).accumulate(),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
