// Single-precision arithmetic: VOP2 and VOP3A f32 (manual sections 12.7, 12.11), division helpers included.
#include "isa/families.hpp"
#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

HIPSCOPE_INLINE bool denormal(f32 x) { const u32 m = bits<u32>(x) & 0x7fffffffU; return m != 0 && m < 0x00800000U; }
HIPSCOPE_INLINE bool denormal(f64 x) { const u64 m = bits<u64>(x) & 0x7fffffffffffffffULL; return m != 0 && m < 0x0010000000000000ULL; }
HIPSCOPE_INLINE int exponent(f32 x) { return static_cast<int>((bits<u32>(x) >> 23U) & 0xffU); }

/// Scales numerator or denominator so that the Newton steps of a division neither overflow nor lose bits.
WithMask<f32> div_scale(f32 s0, f32 s1, f32 s2) {
    if (s2 == 0 || s1 == 0) return {default_nan<f32>, false};
    const f32 up = std::ldexp(s0, 64);
    const bool denominator = s0 == s1;
    if (exponent(s2) - exponent(s1) >= 96) return {denominator ? up : s0, true};
    if (denormal(s1)) return {up, false};
    // 1/s1 is too small for a float when s1's exponent is at the top (the manual writes it in wider arithmetic).
    const bool tiny_reciprocal = denormal(1.0F / s1);
    const bool tiny_quotient = denormal(s2 / s1);
    if (tiny_reciprocal && tiny_quotient) return {denominator ? up : s0, true};
    if (tiny_reciprocal) return {std::ldexp(s0, -64), false};
    if (tiny_quotient) return {s0 == s2 ? up : s0, true};
    if (exponent(s2) <= 23) return {up, false};
    return {s0, false};
}

/// Takes div_scale's factor back: 2^64 when the denominator was scaled (large quotient), 2^-64 for the numerator.
HIPSCOPE_INLINE f32 div_fmas(f32 a, f32 b, f32 c, bool scaled) {
    const f32 r = fma(a, b, c);
    const f32 factor = exponent(c) > 127 ? 0x1p64F : 0x1p-64F;
    return scaled ? r * factor : r;
}

f32 div_fixup(f32 s0, f32 s1, f32 s2) {
    const u32 sign = (bits<u32>(s1) ^ bits<u32>(s2)) & 0x80000000U;
    const f32 infinity = bits<f32>(0x7f800000U);
    const auto signed_bits = [sign](u32 magnitude) { return bits<f32>((magnitude & 0x7fffffffU) | sign); };
    if (is_nan(s2)) return quiet(s2);
    if (is_nan(s1)) return quiet(s1);
    if (s1 == 0 && s2 == 0) return bits<f32>(0xffc00000U);
    if (std::fabs(s1) == infinity && std::fabs(s2) == infinity) return bits<f32>(0xffc00000U);
    if (s1 == 0 || std::fabs(s2) == infinity) return signed_bits(0x7f800000U);
    if (std::fabs(s1) == infinity || s2 == 0) return signed_bits(0);
    if (exponent(s2) - exponent(s1) < -150) return signed_bits(0);
    if (is_nan(s0)) return signed_bits(0x7f800000U);
    return signed_bits(bits<u32>(s0));
}

HIPSCOPE_INLINE f32 median(f32 a, f32 b, f32 c) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return min_number(min_number(a, b), c);
    return max_number(min_number(a, b), min_number(max_number(a, b), c));
}

HIPSCOPE_INLINE f32 mul_legacy(f32 a, f32 b) { return a == 0 || b == 0 ? 0.0F : mul(a, b); }

struct Cube {
    f32 id, s, t, major;
};
Cube cube(f32 x, f32 y, f32 z) {
    const f32 ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    if (az >= ax && az >= ay) return {z < 0 ? 5.0F : 4.0F, z < 0 ? -x : x, -y, 2.0F * z};
    if (ay >= ax) return {y < 0 ? 3.0F : 2.0F, x, y < 0 ? -z : z, 2.0F * y};
    return {x < 0 ? 1.0F : 0.0F, x < 0 ? z : -z, -y, 2.0F * x};
}

}  // namespace

Table valu_f32() {
    static constexpr Entry rows[] = {
        op("v_add_f32", Unit::valu, [](f32 a, f32 b) { return add(a, b); }),
        op("v_sub_f32", Unit::valu, [](f32 a, f32 b) { return sub(a, b); }),
        op("v_subrev_f32", Unit::valu, [](f32 a, f32 b) { return sub(b, a); }),
        op("v_mul_f32", Unit::valu, [](f32 a, f32 b) { return mul(a, b); }),
        op("v_mul_legacy_f32", Unit::valu, [](f32 a, f32 b) { return mul_legacy(a, b); }),
        op("v_min_f32", Unit::valu, [](f32 a, f32 b) { return min_number(a, b); }),
        op("v_max_f32", Unit::valu, [](f32 a, f32 b) { return max_number(a, b); }),
        op("v_fmac_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return fma(a, b, c); }).accumulate(),
        op("v_mac_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return add(mul(a, b), c); }).accumulate(),
        op("v_fmamk_f32", Unit::valu, [](f32 a, f32 k, f32 b) { return fma(a, k, b); }),
        op("v_fmaak_f32", Unit::valu, [](f32 a, f32 b, f32 k) { return fma(a, b, k); }),
        op("v_fma_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return fma(a, b, c); }),
        op("v_mad_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return add(mul(a, b), c); }),
        op("v_mad_legacy_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return add(mul_legacy(a, b), c); }),
        op("v_min3_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return min_number(min_number(a, b), c); }),
        op("v_max3_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return max_number(max_number(a, b), c); }),
        op("v_med3_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return median(a, b, c); }),
        slow_op("v_ldexp_f32", Unit::valu, [](f32 a, i32 n) { return is_nan(a) ? quiet(a) : std::ldexp(a, n); }),
        slow_op("v_div_scale_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return div_scale(a, b, c); }),
        op("v_div_fmas_f32", Unit::valu, [](f32 a, f32 b, f32 c, bool vcc) { return div_fmas(a, b, c, vcc); }),
        slow_op("v_div_fixup_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return div_fixup(a, b, c); }),
        slow_op("v_cubeid_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).id; }),
        slow_op("v_cubesc_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).s; }),
        slow_op("v_cubetc_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).t; }),
        slow_op("v_cubema_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).major; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
