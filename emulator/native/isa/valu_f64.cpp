// Double-precision arithmetic (manual sections 12.8, 12.11): division helpers and the reduction of trigonometric
// arguments included.
#include "isa/families.hpp"
#include "isa/forms.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

HIPSCOPE_INLINE bool denormal(f64 x) { const u64 m = bits<u64>(x) & 0x7fffffffffffffffULL; return (m != 0) & (m < 0x0010000000000000ULL); }
HIPSCOPE_INLINE int exponent(f64 x) { return static_cast<int>((bits<u64>(x) >> 52U) & 0x7ffU); }

/// As in valu_f32.cpp: later lines outrank earlier ones.
HIPSCOPE_INLINE WithMask<f64> div_scale(f64 s0, f64 s1, f64 s2) {
    const f64 up = s0 * 0x1p128, down = s0 * 0x1p-128;
    const bool is_denominator = s0 == s1, is_numerator = s0 == s2;
    const bool tiny_reciprocal = denormal(1.0 / s1), tiny_quotient = denormal(s2 / s1);
    f64 value = exponent(s2) <= 53 ? up : s0;
    value = tiny_quotient ? (is_numerator ? up : s0) : value;
    bool scaled = tiny_quotient;
    value = tiny_reciprocal ? ((tiny_quotient & !is_denominator) ? s0 : down) : value;
    value = denormal(s1) ? up : value;
    scaled = scaled & !denormal(s1);
    const bool huge_quotient = exponent(s2) - exponent(s1) >= 768;
    value = huge_quotient ? (is_denominator ? up : s0) : value;
    scaled = huge_quotient | scaled;
    const bool zero = (s1 == 0) | (s2 == 0);
    scaled = scaled & !zero;
    return {zero ? default_nan<f64> : value, scaled};
}

#if defined(__x86_64__)
__extension__ using Wide = __float128;
#else
using Wide = long double;
#endif
/// Takes div_scale's factor back, rounding once.
f64 unscale(f64 a, f64 b, f64 c) {
    const Wide exact = static_cast<Wide>(a) * static_cast<Wide>(b) + static_cast<Wide>(c);
    return with_gpu_nan<f64>(static_cast<f64>(exact * static_cast<Wide>(exponent(c) > 1023 ? 0x1p128 : 0x1p-128)), a, b, c);
}

HIPSCOPE_INLINE f64 div_fixup(f64 s0, f64 s1, f64 s2) {
    constexpr u64 magnitude = 0x7fffffffffffffffULL, infinity = 0x7ff0000000000000ULL;
    const u64 sign = (bits<u64>(s1) ^ bits<u64>(s2)) & ~magnitude;
    const u64 m1 = bits<u64>(s1) & magnitude, m2 = bits<u64>(s2) & magnitude;
    u64 r = (bits<u64>(s0) & magnitude) | sign;
    r = is_nan(s0) ? infinity | sign : r;                                   // the steps overflowed
    r = exponent(s2) - exponent(s1) < -1075 ? sign : r;
    r = ((m1 == infinity) | (m2 == 0)) ? sign : r;
    r = ((m1 == 0) | (m2 == infinity)) ? infinity | sign : r;
    r = (((m1 == 0) & (m2 == 0)) | ((m1 == infinity) & (m2 == infinity))) ? 0xfff8000000000000ULL : r;
    r = is_nan(s1) ? bits<u64>(quiet(s1)) : r;
    return bits<f64>(is_nan(s2) ? bits<u64>(quiet(s2)) : r);
}

/// The first 1216 bits of 2/pi after the binary point, most significant first.
constexpr u64 two_over_pi[19] = {
    0xA2F9836E4E441529ULL, 0xFC2757D1F534DDC0ULL, 0xDB6295993C439041ULL, 0xFE5163ABDEBBC561ULL, 0xB7246E3A424DD2E0ULL,
    0x06492EEA09D1921CULL, 0xFE1DEB1CB129A73EULL, 0xE88235F52EBB4484ULL, 0xE99C7026B45F7E41ULL, 0x3991D639835339F4ULL,
    0x9C845F8BBDF9283BULL, 0x1FF897FFDE05980FULL, 0xEF2F118B5A0A6D1FULL, 0x6D367ECF27CB09B7ULL, 0x4F463F669E5FEA2DULL,
    0x7527BAC7EBE5F17BULL, 0x3D0739F78A5292EAULL, 0x6BFB5FB11F8D5D08ULL, 0x56033046FC7B6BABULL,
};
/// 53 bits of 2/pi that matter for an argument of this exponent, as a double (v_trig_preop_f64).
f64 trig_preop(f64 x, u32 segment) {
    int shift = static_cast<int>(segment & 31U) * 53;
    if (exponent(x) > 1077) shift += exponent(x) - 1077;
    u64 chunk = 0;
    for (int b = 0; b < 53; ++b) {  // bits of weight 2^-(shift+1) ... 2^-(shift+53)
        const int position = shift + b;
        const u64 bit = position < 1201 ? (two_over_pi[position / 64] >> (63 - position % 64)) & 1U : 0;
        chunk = (chunk << 1U) | bit;
    }
    int scale = -53 - shift;
    if (exponent(x) >= 1968) scale += 128;
    return std::ldexp(static_cast<f64>(chunk), scale);
}

}  // namespace

Table valu_f64() {
    static constexpr Entry rows[] = {
        number_op("v_add_f64", Unit::valu, []<class Nan>(f64 a, f64 b) { return Nan::of(a + b, a, b); }),
        number_op("v_mul_f64", Unit::valu, []<class Nan>(f64 a, f64 b) { return Nan::of(a * b, a, b); }),
        number_op("v_fma_f64", Unit::valu, []<class Nan>(f64 a, f64 b, f64 c) { return Nan::of(__builtin_fma(a, b, c), a, b, c); }),
        number_op("v_fmac_f64", Unit::valu, []<class Nan>(f64 a, f64 b, f64 c) { return Nan::of(__builtin_fma(a, b, c), a, b, c); }).accumulate(),
        mode_op("v_min_f64", Unit::valu, [](auto m, f64 a, f64 b) { return m.min(a, b); }),
        mode_op("v_max_f64", Unit::valu, [](auto m, f64 a, f64 b) { return m.max(a, b); }),
        slow_op("v_ldexp_f64", Unit::valu, [](f64 a, i32 n) { return is_nan(a) ? quiet(a) : a == 0 ? std::copysign(0.0, a) : std::ldexp(a, n); }),
        op("v_div_scale_f64", Unit::valu, [](f64 a, f64 b, f64 c) { return div_scale(a, b, c); }),
        op_unless_vcc("v_div_fmas_f64", Unit::valu, [](f64 a, f64 b, f64 c, bool) { return fma(a, b, c); },
                      [](f64 a, f64 b, f64 c, bool vcc) { return vcc ? unscale(a, b, c) : fma(a, b, c); }),
        op("v_div_fixup_f64", Unit::valu, [](f64 a, f64 b, f64 c) { return div_fixup(a, b, c); }),
        slow_op("v_trig_preop_f64", Unit::valu, [](f64 a, u32 segment) { return trig_preop(a, segment); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
