// Reciprocal, roots, exponential, logarithm, sine and cosine (manual section 12.8). Results are worked out in
// double precision and rounded: at least as accurate as the hardware, not always bit-equal to it.
#include <limits>

#include "isa/families.hpp"
#include "isa/forms.hpp"
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define HIPSCOPE_QUICK_ROWS
#include "isa/quick_rows.hpp"
#else
#include "isa/quick_lanes.hpp"
#endif

namespace hipscope::HIPSCOPE_ISA {
namespace {

constexpr f64 turn = 6.283185307179586476925286766559;

template <class Nan = GpuNan>
HIPSCOPE_INLINE f32 rcp(f32 x) { return Nan::of(1.0F / x, x); }
template <class Nan = GpuNan>
HIPSCOPE_INLINE f64 rcp(f64 x) { return Nan::of(1.0 / x, x); }
template <class Nan = GpuNan>
HIPSCOPE_INLINE f32 root(f32 x) { return Nan::of(__builtin_sqrtf(x), x); }
template <class Nan = GpuNan>
HIPSCOPE_INLINE f64 root(f64 x) { return Nan::of(__builtin_sqrt(x), x); }
template <class Nan = GpuNan>
HIPSCOPE_INLINE f32 rsq(f32 x) { return Nan::of(static_cast<f32>(1.0 / __builtin_sqrt(static_cast<f64>(x))), x); }
template <class Nan = GpuNan>
HIPSCOPE_INLINE f64 rsq(f64 x) { return Nan::of(1.0 / __builtin_sqrt(x), x); }

/// Nearest integer, for magnitudes below 2^51; loops over it vectorize.
HIPSCOPE_INLINE f64 nearest(f64 x) {
    constexpr f64 shift = 0x1.8p52;
    return x + shift - shift;
}
/// 2^n for whole n in [-1022, 1023].
HIPSCOPE_INLINE f64 power_of_two(f64 n) { return bits<f64>(bits<u64>(n + (0x1p52 + 1023.0)) << 52U); }

/// sum of c[k] * z^k: series in double precision, cut where the next term is below its rounding.
template <std::size_t n>
HIPSCOPE_INLINE f64 series(const f64 (&c)[n], f64 z) {
    f64 sum = c[n - 1];
    for (std::size_t k = n - 1; k-- > 0;) sum = sum * z + c[k];
    return sum;
}

/// 2^x = 2^n * e^(f ln 2) with f in [-1/2, 1/2].
HIPSCOPE_INLINE f32 exp2_of(f32 x) {
    constexpr f64 c[] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                         1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
    constexpr f64 ln2 = 0.69314718055994530942;
    const f64 wide = static_cast<f64>(x);
    const f64 within = wide > 1000 ? 1000 : wide < -1000 ? -1000 : wide;  // NaN stays
    const f64 n = nearest(within);
    return with_gpu_nan<f32>(static_cast<f32>(power_of_two(n) * series(c, (within - n) * ln2)), x);
}

/// log2(2^e * m) = e + 2 / ln 2 * artanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt(2)).
HIPSCOPE_INLINE f32 log2_of(f32 x) {
    constexpr f64 c[] = {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    constexpr u64 root_half = 0x3fe6a09e667f3bcdULL;
    constexpr f64 two_over_ln2 = 2.8853900817779268147;
    const u64 from_root = bits<u64>(static_cast<f64>(x)) - root_half;  // exponent field and carry relative to sqrt(1/2)
    const f64 e = bits<f64>((from_root >> 52U) + 0x4330000000000000ULL) - 0x1p52;
    const f64 m = bits<f64>((from_root & 0xfffffffffffffULL) + root_half);
    const f64 s = (m - 1.0) / (m + 1.0);
    const f64 exponent = e >= 2048 ? e - 4096 : e;  // 12 bits, two's complement
    const f64 usual = exponent + two_over_ln2 * s * series(c, s * s);
    constexpr f64 inf = std::numeric_limits<f64>::infinity();
    const f64 result = x == 0 ? -inf : !(x >= 0) ? std::numeric_limits<f64>::quiet_NaN()
                     : x == std::numeric_limits<f32>::infinity() ? inf : usual;
    return with_gpu_nan<f32>(static_cast<f32>(result), x);
}

/// sin(2 pi t) for t in (-1, 2): half turns are taken off exactly, each changes the sign.
HIPSCOPE_INLINE f64 sine_of_turns(f64 t) {
    constexpr f64 c[] = {1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0,
                         -1.0 / 1307674368000.0, 1.0 / 355687428096000.0, -1.0 / 121645100408832000.0,
                         1.0 / 51090942171709440000.0};
    const f64 half_turns = nearest(t + t);
    const f64 y = (t - half_turns * 0.5) * turn;
    const f64 size = y * series(c, y * y);
    const f64 odd = half_turns - 2 * nearest(half_turns * 0.5 - 0.25);  // 0 or 1
    return (odd != 0 ? -size : size) + 0.0;  // no negative zero
}
/// The argument counts turns; whole turns are removed exactly, and small arguments left as they are.
HIPSCOPE_INLINE f64 part_of_turn(f32 x) {
    const f64 t = static_cast<f64>(x);
    return t > -1 && t < 1 ? t : t - __builtin_floor(t);
}
HIPSCOPE_INLINE f32 sine(f32 x) { return with_gpu_nan<f32>(static_cast<f32>(sine_of_turns(part_of_turn(x))), x); }
HIPSCOPE_INLINE f32 cosine(f32 x) { return with_gpu_nan<f32>(static_cast<f32>(sine_of_turns(part_of_turn(x) + 0.25)), x); }
/// The quick way for a wave of which every result is sure to be right, and all of `general` else.
template <class Function, Handler general>
Step quick_or_exact(Wave& w, const Instruction& in) {
    if ((w.mode & mode_float_bits) != mode_float_default) [[unlikely]] return general(w, in);
    const u64 active = w.exec();
    alignas(64) u32 out[kLanes];
    if (!quick_wave<Function>(w.vgpr[in.source[0].index], out, active)) [[unlikely]] return general(w, in);
    blend(w.vgpr[in.destination[0].index], out, active);
    return Step::next;
}
template <class Function, class Exact>
constexpr Entry function_op(std::string_view name, Exact exact) {
    Entry e = op(name, Unit::valu_trans, exact);
    e.forms[0] = &quick_or_exact<Function, op({}, Unit::valu_trans, Exact{}).run>;
    return e;
}
constexpr Entry inverse_root(std::string_view name) {
    Entry e = number_op(name, Unit::valu_trans, []<class Nan>(f32 a) { return rsq<Nan>(a); });
#if defined(HIPSCOPE_QUICK_ROWS)
    e.forms[0] = &quick_or_exact<InverseRoot, op({}, Unit::valu_trans, [](f32 a) { return rsq(a); }).run>;
#endif
    return e;
}

f32 exp2_single(f32 x) { return exp2_of(x); }
f32 log2_single(f32 x) { return log2_of(x); }
f32 sine_single(f32 x) { return sine(x); }
f32 cosine_single(f32 x) { return cosine(x); }

/// Rounded to nearest in every MODE. Zero's reciprocal, inverse root and logarithm are infinite by themselves, not by their size.
template <f32 (*f)(f32), class Mode>
f16 on_half(Mode m, f16 x) {
    if (is_nan(x)) return quiet(x);
    const f32 wide = widen(x);
    return m.limited(narrow(f(wide)), wide != 0 && !std::isinf(wide));
}
f32 rcp_single(f32 x) { return rcp(x); }
f32 root_single(f32 x) { return root(x); }
f32 rsq_single(f32 x) { return rsq(x); }

}  // namespace

Table transcendental() {
    static constexpr Entry rows[] = {
        number_op("v_rcp_f32", Unit::valu_trans, []<class Nan>(f32 a) { return rcp<Nan>(a); }),
        number_op("v_rcp_iflag_f32", Unit::valu_trans, []<class Nan>(f32 a) { return rcp<Nan>(a); }),
        number_op("v_rcp_f64", Unit::valu_trans, []<class Nan>(f64 a) { return rcp<Nan>(a); }),
        number_op("v_sqrt_f32", Unit::valu_trans, []<class Nan>(f32 a) { return root<Nan>(a); }),
        number_op("v_sqrt_f64", Unit::valu_trans, []<class Nan>(f64 a) { return root<Nan>(a); }),
        inverse_root("v_rsq_f32"),
        number_op("v_rsq_f64", Unit::valu_trans, []<class Nan>(f64 a) { return rsq<Nan>(a); }),
        function_op<Exp2>("v_exp_f32", [](f32 a) { return exp2_of(a); }),
        function_op<Exp2>("v_exp_legacy_f32", [](f32 a) { return exp2_of(a); }),
        function_op<Log2>("v_log_f32", [](f32 a) { return log2_of(a); }),
        function_op<Log2>("v_log_legacy_f32", [](f32 a) { return log2_of(a); }),
        function_op<Sine>("v_sin_f32", [](f32 a) { return sine(a); }),
        function_op<Cosine>("v_cos_f32", [](f32 a) { return cosine(a); }),
        slow_mode_op("v_rcp_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<rcp_single>(m, a); }),
        slow_mode_op("v_sqrt_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<root_single>(m, a); }),
        slow_mode_op("v_rsq_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<rsq_single>(m, a); }),
        slow_mode_op("v_exp_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<exp2_single>(m, a); }),
        slow_mode_op("v_log_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<log2_single>(m, a); }),
        slow_mode_op("v_sin_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<sine_single>(m, a); }),
        slow_mode_op("v_cos_f16", Unit::valu_trans, [](auto m, f16 a) { return on_half<cosine_single>(m, a); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
