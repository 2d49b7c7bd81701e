// Single-precision arithmetic: VOP2 and VOP3A f32 (manual sections 12.7, 12.11), division helpers included.
#include "isa/families.hpp"
#include "isa/forms.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

HIPSCOPE_INLINE bool denormal(f32 x) { const u32 m = bits<u32>(x) & 0x7fffffffU; return (m != 0) & (m < 0x00800000U); }
HIPSCOPE_INLINE int exponent(f32 x) { return static_cast<int>((bits<u32>(x) >> 23U) & 0xffU); }

/// Scales numerator or denominator so that the Newton steps of a division neither overflow nor lose bits.
/// The mask says that div_fmas must take the factor back. Later lines outrank earlier ones.
HIPSCOPE_INLINE WithMask<f32> div_scale(f32 s0, f32 s1, f32 s2) {
    const f32 up = s0 * 0x1p64F, down = s0 * 0x1p-64F;
    const bool is_denominator = s0 == s1, is_numerator = s0 == s2;
    const bool tiny_reciprocal = denormal(1.0F / s1), tiny_quotient = denormal(s2 / s1);
    f32 value = exponent(s2) <= 23 ? up : s0;
    value = tiny_quotient ? (is_numerator ? up : s0) : value;
    bool scaled = tiny_quotient;
    value = tiny_reciprocal ? ((tiny_quotient & !is_denominator) ? s0 : down) : value;
    value = denormal(s1) ? up : value;
    scaled = scaled & !denormal(s1);
    const bool huge_quotient = exponent(s2) - exponent(s1) >= 96;
    value = huge_quotient ? (is_denominator ? up : s0) : value;
    scaled = huge_quotient | scaled;
    const bool zero = (s1 == 0) | (s2 == 0);
    scaled = scaled & !zero;
    return {zero ? default_nan<f32> : value, scaled};
}

/// Most divisions need no factor: then the result is the first source and no lane's bit is set.
Step scale_for_division(Wave& w, const Instruction& in) {
    constexpr Handler exact = op({}, Unit::valu, [](f32 a, f32 b, f32 c) { return div_scale(a, b, c); }).run;
    if (!in.simple) return exact(w, in);
    alignas(64) RowBuffer buffer[3];
    u64 active = w.exec();
    const Row s0 = fetch<f32>(w, in, 0, buffer[0], active), s1 = fetch<f32>(w, in, 1, buffer[1], active), s2 = fetch<f32>(w, in, 2, buffer[2], active);
    u32 outside = 0;
    for (int i = 0; i < kLanes; ++i) {
        const u32 e1 = (s1.lo[i] >> 23U) & 0xffU, e2 = (s2.lo[i] >> 23U) & 0xffU;
        // No denormal, 1 / s1 and s2 / s1 are none either, and the quotient is below 2^96.
        outside |= static_cast<u32>(e1 - 1 > 251) | static_cast<u32>(e2 < 24) | static_cast<u32>(e2 - e1 + 124 > 219);
    }
    if (outside != 0) [[unlikely]] return exact(w, in);
    blend(w.vgpr[in.destination[0].index], s0.lo, active);
    w.set_s64(in.destination[1].index, 0);
    return Step::next;
}

constexpr Entry with_handler(Entry e, Handler run) {
    e.run = run;
    return e;
}

/// Takes div_scale's factor back, rounding once: 2^64 when the denominator was scaled up (large quotient), else 2^-64.
HIPSCOPE_INLINE f32 unscale(f32 a, f32 b, f32 c) {
    const f64 exact = exact_sum(f64{a} * f64{b}, f64{c});
    return with_gpu_nan<f32>(static_cast<f32>(exact * (exponent(c) > 127 ? 0x1p64 : 0x1p-64)), a, b, c);
}

HIPSCOPE_INLINE f32 div_fixup(f32 s0, f32 s1, f32 s2) {
    const u32 sign = (bits<u32>(s1) ^ bits<u32>(s2)) & 0x80000000U;
    const u32 m1 = bits<u32>(s1) & 0x7fffffffU, m2 = bits<u32>(s2) & 0x7fffffffU;
    constexpr u32 infinity = 0x7f800000U;
    u32 r = (bits<u32>(s0) & 0x7fffffffU) | sign;
    r = is_nan(s0) ? infinity | sign : r;                                   // the steps overflowed
    r = exponent(s2) - exponent(s1) < -150 ? sign : r;
    r = ((m1 == infinity) | (m2 == 0)) ? sign : r;
    r = ((m1 == 0) | (m2 == infinity)) ? infinity | sign : r;
    r = (((m1 == 0) & (m2 == 0)) | ((m1 == infinity) & (m2 == infinity))) ? 0xffc00000U : r;
    r = is_nan(s1) ? bits<u32>(quiet(s1)) : r;
    return bits<f32>(is_nan(s2) ? bits<u32>(quiet(s2)) : r);
}

/// a * 2^n rounded once: exact in double.
HIPSCOPE_INLINE f32 scale_by_power(f32 a, i32 n) {
    const i32 limited = n > 300 ? 300 : n < -300 ? -300 : n;
    const f64 power = bits<f64>(static_cast<u64>(static_cast<i64>(limited) + 1023) << 52U);
    return with_gpu_nan<f32>(static_cast<f32>(static_cast<f64>(a) * power), a);
}

template <class Mode>
HIPSCOPE_INLINE f32 median(Mode m, f32 a, f32 b, f32 c) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return m.min(m.min(a, b), c);
    return m.max(m.min(a, b), m.min(m.max(a, b), c));
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
        number_op("v_add_f32", Unit::valu, []<class Nan>(f32 a, f32 b) { return Nan::of(a + b, a, b); }),
        number_op("v_sub_f32", Unit::valu, []<class Nan>(f32 a, f32 b) { return Nan::of(a - b, a, b); }),
        number_op<NanOrder::second_operand>("v_subrev_f32", Unit::valu, []<class Nan>(f32 a, f32 b) { return Nan::of(b - a, b, a); }),
        number_op("v_mul_f32", Unit::valu, []<class Nan>(f32 a, f32 b) { return Nan::of(a * b, a, b); }),
        op("v_mul_legacy_f32", Unit::valu, [](f32 a, f32 b) { return mul_legacy(a, b); }),
        mode_op("v_min_f32", Unit::valu, [](auto m, f32 a, f32 b) { return m.min(a, b); }),
        mode_op("v_max_f32", Unit::valu, [](auto m, f32 a, f32 b) { return m.max(a, b); }),
        number_op("v_fmac_f32", Unit::valu, []<class Nan>(f32 a, f32 b, f32 c) { return Nan::of(fused(a, b, c), a, b, c); }).accumulate(),
        op("v_mac_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return add(mul(a, b), c); }).accumulate(),
        op("v_madmk_f32", Unit::valu, [](f32 a, f32 k, f32 b) { return add(mul(a, k), b); }),
        op("v_madak_f32", Unit::valu, [](f32 a, f32 b, f32 k) { return add(mul(a, b), k); }),
        number_op("v_fmamk_f32", Unit::valu, []<class Nan>(f32 a, f32 k, f32 b) { return Nan::of(fused(a, k, b), a, k, b); }),
        number_op("v_fmaak_f32", Unit::valu, []<class Nan>(f32 a, f32 b, f32 k) { return Nan::of(fused(a, b, k), a, b, k); }),
        number_op("v_fma_f32", Unit::valu, []<class Nan>(f32 a, f32 b, f32 c) { return Nan::of(fused(a, b, c), a, b, c); }),
        op("v_mad_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return add(mul(a, b), c); }),
        op("v_mad_legacy_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return add(mul_legacy(a, b), c); }),
        mode_op("v_min3_f32", Unit::valu, [](auto m, f32 a, f32 b, f32 c) { return m.min(m.min(a, b), c); }),
        mode_op("v_max3_f32", Unit::valu, [](auto m, f32 a, f32 b, f32 c) { return m.max(m.max(a, b), c); }),
        mode_op("v_med3_f32", Unit::valu, [](auto m, f32 a, f32 b, f32 c) { return median(m, a, b, c); }),
        op("v_ldexp_f32", Unit::valu, [](f32 a, i32 n) { return scale_by_power(a, n); }),
        with_handler(op("v_div_scale_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return div_scale(a, b, c); }), &scale_for_division),
        op_unless_vcc("v_div_fmas_f32", Unit::valu, [](f32 a, f32 b, f32 c, bool) { return fma(a, b, c); },
                      [](f32 a, f32 b, f32 c, bool vcc) { return vcc ? unscale(a, b, c) : fma(a, b, c); }),
        common_op("v_div_fixup_f32", Unit::valu, [](f32 a, f32 b, f32 c) { return div_fixup(a, b, c); }),
        slow_op("v_cubeid_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).id; }),
        slow_op("v_cubesc_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).s; }),
        slow_op("v_cubetc_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).t; }),
        slow_op("v_cubema_f32", Unit::valu, [](f32 x, f32 y, f32 z) { return cube(x, y, z).major; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
