// Reciprocal, roots, exponential, logarithm, sine and cosine (manual section 12.8). Results are worked out in
// double precision and rounded: at least as accurate as the hardware, not always bit-equal to it.
#include <limits>

#include "isa/families.hpp"
#include "isa/forms.hpp"

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
/// The same functions as polynomials that are shorter by half, for a result that one rounding makes a float. `quick` is within
/// 2^-40 of the exact value, and so are the series above: both round to the same float unless a boundary between two floats is
/// about as near. `settled` gives what rounding says nothing about: zeros, infinities, what is not defined. The coefficients are those of the least
/// relative error (Remez), 2^-40.2 for Exp2, 2^-43.8 for Sine and Cosine, 2^-45.0 for Log2.
HIPSCOPE_INLINE f64 multiply_add(f64 a, f64 b, f64 c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}
/// Horner's rule from the k-th coefficient on; written without a loop, which would keep the one over lanes from being vectorized.
template <std::size_t k = 0, std::size_t n>
HIPSCOPE_INLINE f64 polynomial(const f64 (&c)[n], f64 z) {
    if constexpr (k + 1 == n) return c[k];
    else return multiply_add(polynomial<k + 1>(c, z), z, c[k]);
}
struct Exp2 {
    HIPSCOPE_INLINE static f32 exact(f32 x) { return exp2_of(x); }
    HIPSCOPE_INLINE static f64 quick(f32 x) {
        constexpr f64 c[] = {0x1.ffffffffff7a3p-1, 0x1.62e42fef8615ep-1, 0x1.ebfbdff9319e2p-3, 0x1.c6b08dd46d38ep-5, 0x1.3b2ab5c529237p-7,
                             0x1.5d87483855d98p-10, 0x1.430acca34b829p-13, 0x1.00dad2502cf74p-16, 0x1.61afceb6915d4p-20};
        const f32 low = x > 200.0F ? 200.0F : x, within = low < -200.0F ? -200.0F : low;
        const f32 n = __builtin_rintf(within);
        const f64 part = polynomial(c, static_cast<f64>(within - n));
        return bits<f64>(bits<u64>(part) + (static_cast<u64>(static_cast<i64>(static_cast<i32>(n))) << 52U));
    }
    HIPSCOPE_INLINE static f32 settled(f32, f32 rounded) { return rounded; }
    static constexpr bool denormal_results = true;
};
struct Log2 {
    HIPSCOPE_INLINE static f32 exact(f32 x) { return log2_of(x); }
    HIPSCOPE_INLINE static f64 quick(f32 x) {
        constexpr f64 c[] = {0x1.71547652b8251p+1, 0x1.ec709dc53c31dp-1, 0x1.2776c29380b5cp-1,
                             0x1.a61a2e91846fdp-2, 0x1.47955fd02f74ep-2, 0x1.21b059691b629p-2};
        constexpr u64 root_half = 0x3fe6a09e667f3bcdULL;
        const u64 from_root = bits<u64>(static_cast<f64>(x)) - root_half;
        const f64 e = bits<f64>(((from_root >> 52U) ^ 0x800U) | 0x4330000000000000ULL) - (0x1p52 + 2048);
        const f64 m = bits<f64>((from_root & 0xfffffffffffffULL) + root_half);
        const f64 s = (m - 1.0) / (m + 1.0);
        return multiply_add(s, polynomial(c, s * s), e);
    }
    HIPSCOPE_INLINE static f32 settled(f32 x, f32 rounded) {
        constexpr u32 inf = 0x7f800000U, sign = 0x80000000U;
        const u32 word = bits<u32>(x);
        u32 result = word == inf ? inf : bits<u32>(rounded);
        result = word > sign ? bits<u32>(default_nan<f32>) : result;  // a NaN with a sign is seen to by the caller
        result = (word & ~sign) == 0 ? inf | sign : result;
        return bits<f32>(result);
    }
    static constexpr bool denormal_results = false;
};
/// No negative zero, and no value at infinity.
HIPSCOPE_INLINE f32 settled_sine(f32 x, f32 rounded) {
    return std::fabs(x) == std::numeric_limits<f32>::infinity() ? default_nan<f32> : rounded + 0.0F;
}
HIPSCOPE_INLINE f64 quick_sine(f64 turns) {  // in [-1/4, 1/4]
    constexpr f64 c[] = {0x1.921fb54442b5fp+2, -0x1.4abbce6247ec4p+5, 0x1.466bc66dc7d8cp+6, -0x1.32d2c96c6115dp+6,
                         0x1.5076fe9f6292bp+5, -0x1.e297cfd3c5c2fp+3, 0x1.d4ec697696adap+1};
    return turns * polynomial(c, turns * turns);
}
struct Sine {
    HIPSCOPE_INLINE static f32 exact(f32 x) { return sine(x); }
    HIPSCOPE_INLINE static f64 quick(f32 x) {
        const f32 rest = x - __builtin_rintf(x), half_turns = __builtin_rintf(rest + rest);  // all differences are exact
        const f32 size = rest - half_turns * 0.5F;
        return quick_sine(static_cast<f64>(size * (1.0F - 2.0F * half_turns * half_turns)));
    }
    HIPSCOPE_INLINE static f32 settled(f32 x, f32 rounded) { return settled_sine(x, rounded); }
    static constexpr bool denormal_results = true;
};
struct Cosine {
    HIPSCOPE_INLINE static f32 exact(f32 x) { return cosine(x); }
    HIPSCOPE_INLINE static f64 quick(f32 x) { return quick_sine(0.25 - static_cast<f64>(std::fabs(x - __builtin_rintf(x)))); }
    HIPSCOPE_INLINE static f32 settled(f32 x, f32 rounded) { return settled_sine(x, rounded); }
    static constexpr bool denormal_results = false;
};

/// How far a double is above the place where the boundary between two floats begins to matter, in its own last bits.
constexpr u64 boundary_zone = 1U << 15U;
HIPSCOPE_INLINE u64 above_boundary(f64 value) {
    constexpr u64 below_float = 0x1fffffffU, half = 0x10000000U;  // of a double's bits, those that a float does not have
    return (bits<u64>(value) - (half - boundary_zone / 2)) & below_float;
}
/// The result of one lane as the quick way has it, right unless `nearest` comes out too low.
template <class Function>
HIPSCOPE_INLINE u32 quick_result(f32 x, u64& nearest) {
    const f64 value = Function::quick(x);
    const u64 distance = above_boundary(value);
    nearest = distance < nearest ? distance : nearest;
    const u32 result = bits<u32>(Function::settled(x, static_cast<f32>(value)));
    return x != x ? bits<u32>(quiet(x)) : result;
}
/// Some result is not zero and below the normal numbers. A loop of its own: together with the other, GCC 13 vectorizes neither.
HIPSCOPE_INLINE bool any_denormal(const u32* results) {
    u32 least = ~u32{0};
    HIPSCOPE_EVERY_LANE {
        const u32 above_zero = (results[i] & 0x7fffffffU) - 1;
        least = above_zero < least ? above_zero : least;
    }
    return least < 0x00800000U;
}

/// The quick way for a wave of which no result is near a boundary between two floats or denormal, and all of `general` else.
template <class Function, Handler general>
Step quick_or_exact(Wave& w, const Instruction& in) {
    if ((w.mode & mode_float_bits) != mode_float_default) [[unlikely]] return general(w, in);
    const u32* from = w.vgpr[in.source[0].index];
    alignas(64) u32 out[kLanes];
    u64 nearest = ~u64{0};
    HIPSCOPE_EVERY_LANE out[i] = quick_result<Function>(bits<f32>(from[i]), nearest);
    if (nearest < boundary_zone) [[unlikely]] return general(w, in);
    if (Function::denormal_results && any_denormal(out)) [[unlikely]] return general(w, in);
    blend(w.vgpr[in.destination[0].index], out, w.exec());
    return Step::next;
}
template <class Function>
constexpr Entry function_op(std::string_view name) {
    Entry e = op(name, Unit::valu_trans, [](f32 a) { return Function::exact(a); });
    e.forms[0] = &quick_or_exact<Function, op({}, Unit::valu_trans, [](f32 a) { return Function::exact(a); }).run>;
    return e;
}

f32 exp2_single(f32 x) { return exp2_of(x); }
f32 log2_single(f32 x) { return log2_of(x); }
f32 sine_single(f32 x) { return sine(x); }
f32 cosine_single(f32 x) { return cosine(x); }

template <f32 (*f)(f32)>
f16 on_half(f16 x) { return is_nan(x) ? quiet(x) : narrow(f(widen(x))); }
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
        number_op("v_rsq_f32", Unit::valu_trans, []<class Nan>(f32 a) { return rsq<Nan>(a); }),
        number_op("v_rsq_f64", Unit::valu_trans, []<class Nan>(f64 a) { return rsq<Nan>(a); }),
        function_op<Exp2>("v_exp_f32"),
        function_op<Exp2>("v_exp_legacy_f32"),
        function_op<Log2>("v_log_f32"),
        function_op<Log2>("v_log_legacy_f32"),
        function_op<Sine>("v_sin_f32"),
        function_op<Cosine>("v_cos_f32"),
        slow_op("v_rcp_f16", Unit::valu_trans, [](f16 a) { return on_half<rcp_single>(a); }),
        slow_op("v_sqrt_f16", Unit::valu_trans, [](f16 a) { return on_half<root_single>(a); }),
        slow_op("v_rsq_f16", Unit::valu_trans, [](f16 a) { return on_half<rsq_single>(a); }),
        slow_op("v_exp_f16", Unit::valu_trans, [](f16 a) { return on_half<exp2_single>(a); }),
        slow_op("v_log_f16", Unit::valu_trans, [](f16 a) { return on_half<log2_single>(a); }),
        slow_op("v_sin_f16", Unit::valu_trans, [](f16 a) { return on_half<sine_single>(a); }),
        slow_op("v_cos_f16", Unit::valu_trans, [](f16 a) { return on_half<cosine_single>(a); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
