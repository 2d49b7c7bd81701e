// 16-bit arithmetic (manual sections 12.7, 12.11). Results of VOP1/VOP2 clear the upper half of the register; the
// VOP3-only forms marked keep_high leave it alone.
#include "isa/families.hpp"
#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

HIPSCOPE_INLINE u16 word(u32 x) { return static_cast<u16>(x); }
HIPSCOPE_INLINE i16 sword(i32 x) { return static_cast<i16>(x); }
template <class T>
HIPSCOPE_INLINE T median(T a, T b, T c) { return larger(smaller(a, b), smaller(larger(a, b), c)); }
template <class Mode>
f16 median(Mode m, f16 a, f16 b, f16 c) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return m.min(m.min(a, b), c);
    return m.max(m.min(a, b), m.min(m.max(a, b), c));
}
/// a * 2^n: beyond 2^64 and 2^-64 every result is too large or too small alike.
template <class Mode>
f16 ldexp_half(Mode m, f16 a, i16 n) {
    const int limited = n > 64 ? 64 : n < -64 ? -64 : n;
    return is_nan(a) ? quiet(a) : m.narrow(std::ldexp(static_cast<f64>(widen(a)), limited));
}
f16 div_fixup(f16 s0, f16 s1, f16 s2) {
    const u16 sign = (s1.bits ^ s2.bits) & 0x8000U;
    const u16 m1 = s1.bits & 0x7fffU, m2 = s2.bits & 0x7fffU;
    if (is_nan(s2)) return quiet(s2);
    if (is_nan(s1)) return quiet(s1);
    if ((m1 == 0 && m2 == 0) || (m1 == 0x7c00 && m2 == 0x7c00)) return {0xfe00};
    if (m1 == 0 || m2 == 0x7c00) return {static_cast<u16>(sign | 0x7c00U)};
    if (m1 == 0x7c00 || m2 == 0) return {sign};
    return {static_cast<u16>(sign | (s0.bits & 0x7fffU))};
}

}  // namespace

Table valu_16bit() {
    static constexpr Entry rows[] = {
        mode_op("v_add_f16", Unit::valu, [](auto m, f16 a, f16 b) { return m.add(a, b); }),
        mode_op("v_sub_f16", Unit::valu, [](auto m, f16 a, f16 b) { return m.sub(a, b); }),
        mode_op("v_subrev_f16", Unit::valu, [](auto m, f16 a, f16 b) { return m.sub(b, a); }),
        mode_op("v_mul_f16", Unit::valu, [](auto m, f16 a, f16 b) { return m.mul(a, b); }),
        mode_op("v_min_f16", Unit::valu, [](auto m, f16 a, f16 b) { return m.min(a, b); }),
        mode_op("v_max_f16", Unit::valu, [](auto m, f16 a, f16 b) { return m.max(a, b); }),
        mode_op("v_mac_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.add(m.mul(a, b), c); }).accumulate(),
        mode_op("v_madmk_f16", Unit::valu, [](auto m, f16 a, f16 k, f16 b) { return m.add(m.mul(a, k), b); }),
        mode_op("v_madak_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 k) { return m.add(m.mul(a, b), k); }),
        slow_mode_op("v_ldexp_f16", Unit::valu, [](auto m, f16 a, i16 n) { return ldexp_half(m, a, n); }),
        mode_op("v_fma_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.fma(a, b, c); }).keep_high(),
        mode_op("v_fma_legacy_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.fma(a, b, c); }),
        mode_op("v_mad_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.add(m.mul(a, b), c); }).keep_high(),
        mode_op("v_mad_legacy_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.add(m.mul(a, b), c); }),
        mode_op("v_min3_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.min(m.min(a, b), c); }).keep_high(),
        mode_op("v_max3_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return m.max(m.max(a, b), c); }).keep_high(),
        slow_mode_op("v_med3_f16", Unit::valu, [](auto m, f16 a, f16 b, f16 c) { return median(m, a, b, c); }).keep_high(),
        slow_mode_op("v_div_fixup_f16", Unit::valu, [](auto, f16 a, f16 b, f16 c) { return div_fixup(a, b, c); }).keep_high(),
        slow_mode_op("v_div_fixup_legacy_f16", Unit::valu, [](auto, f16 a, f16 b, f16 c) { return div_fixup(a, b, c); }),
        mode_op("v_pack_b32_f16", Unit::valu, [](auto, f16 a, f16 b) { return u32{a.bits} | (u32{b.bits} << 16U); }),

        op("v_add_u16", Unit::valu, [](u16 a, u16 b) { return word(u32{a} + b); }),
        op("v_sub_u16", Unit::valu, [](u16 a, u16 b) { return word(u32{a} - b); }),
        op("v_subrev_u16", Unit::valu, [](u16 a, u16 b) { return word(u32{b} - a); }),
        op("v_add_u16_clamp", Unit::valu, [](u16 a, u16 b) { const u32 s = u32{a} + b; return word(s > 0xffffU ? 0xffffU : s); }),
        op("v_sub_u16_clamp", Unit::valu, [](u16 a, u16 b) { return word(a < b ? 0U : u32{a} - b); }),
        op("v_subrev_u16_clamp", Unit::valu, [](u16 a, u16 b) { return word(b < a ? 0U : u32{b} - a); }),
        op("v_mul_lo_u16", Unit::valu, [](u16 a, u16 b) { return word(u32{a} * b); }),
        op("v_lshlrev_b16", Unit::valu, [](u16 n, u16 a) { return word(u32{a} << (n & 15U)); }),
        op("v_lshrrev_b16", Unit::valu, [](u16 n, u16 a) { return word(u32{a} >> (n & 15U)); }),
        op("v_ashrrev_i16", Unit::valu, [](u16 n, i16 a) { return sword(i32{a} >> (n & 15U)); }),
        op("v_min_u16", Unit::valu, [](u16 a, u16 b) { return smaller(a, b); }),
        op("v_max_u16", Unit::valu, [](u16 a, u16 b) { return larger(a, b); }),
        op("v_min_i16", Unit::valu, [](i16 a, i16 b) { return smaller(a, b); }),
        op("v_max_i16", Unit::valu, [](i16 a, i16 b) { return larger(a, b); }),
        op("v_add_i16", Unit::valu, [](i16 a, i16 b) { return sword(i32{a} + b); }).keep_high(),
        op("v_sub_i16", Unit::valu, [](i16 a, i16 b) { return sword(i32{a} - b); }).keep_high(),
        op("v_add_i16_clamp", Unit::valu, [](i16 a, i16 b) { return sword(larger(smaller(i32{a} + b, 32767), -32768)); }).keep_high(),
        op("v_sub_i16_clamp", Unit::valu, [](i16 a, i16 b) { return sword(larger(smaller(i32{a} - b, 32767), -32768)); }).keep_high(),
        op("v_mad_u16", Unit::valu, [](u16 a, u16 b, u16 c) { return word(u32{a} * b + c); }).keep_high(),
        op("v_mad_i16", Unit::valu, [](i16 a, i16 b, i16 c) { return sword(i32{a} * b + c); }).keep_high(),
        op("v_mad_legacy_u16", Unit::valu, [](u16 a, u16 b, u16 c) { return word(u32{a} * b + c); }),
        op("v_mad_legacy_i16", Unit::valu, [](i16 a, i16 b, i16 c) { return sword(i32{a} * b + c); }),
        op("v_min3_u16", Unit::valu, [](u16 a, u16 b, u16 c) { return smaller(smaller(a, b), c); }).keep_high(),
        op("v_max3_u16", Unit::valu, [](u16 a, u16 b, u16 c) { return larger(larger(a, b), c); }).keep_high(),
        op("v_med3_u16", Unit::valu, [](u16 a, u16 b, u16 c) { return median(a, b, c); }).keep_high(),
        op("v_min3_i16", Unit::valu, [](i16 a, i16 b, i16 c) { return smaller(smaller(a, b), c); }).keep_high(),
        op("v_max3_i16", Unit::valu, [](i16 a, i16 b, i16 c) { return larger(larger(a, b), c); }).keep_high(),
        op("v_med3_i16", Unit::valu, [](i16 a, i16 b, i16 c) { return median(a, b, c); }).keep_high(),
        op("v_sat_pk_u8_i16", Unit::valu, [](u16x2 a) { const auto s = [](u16 x) { const i32 v = static_cast<i16>(x); return static_cast<u32>(v < 0 ? 0 : v > 255 ? 255 : v); }; return s(a.lo) | (s(a.hi) << 8U); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
