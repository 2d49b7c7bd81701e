// Number formats of the lanes: bit casts, half precision, and the NaN rule of the vector ALU.
// Everything is branch-free where a loop over 64 lanes uses it, so that the compiler can vectorize.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#ifndef HIPSCOPE_ISA
#define HIPSCOPE_ISA isa_baseline
#endif

namespace hipscope::HIPSCOPE_ISA {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

/// Bits of a half-precision number.
struct f16 {
    u16 bits = 0;
};

#define HIPSCOPE_INLINE [[gnu::always_inline]] inline

template <class To, class From>
HIPSCOPE_INLINE constexpr To bits(From value) {
    return __builtin_bit_cast(To, value);
}

HIPSCOPE_INLINE f32 widen(f16 h) {
    const u32 magnitude = u32{h.bits} & 0x7fffU;
    const u32 scaled = bits<u32>(bits<f32>(magnitude << 13U) * bits<f32>(0x77800000U));  // * 2^112: denormals too
    const u32 special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
    return bits<f32>(scaled | special | ((u32{h.bits} & 0x8000U) << 16U));
}

/// Round to nearest even.
HIPSCOPE_INLINE f16 narrow(f32 value) {
    const u32 x = bits<u32>(value);
    const u32 magnitude = x & 0x7fffffffU;
    const u32 normal = (magnitude + 0xc8000fffU + ((magnitude >> 13U) & 1U)) >> 13U;
    const u32 small = bits<u32>(bits<f32>(magnitude) + 0.5F) - 0x3f000000U;
    const u32 nan = 0x7e00U | ((magnitude >> 13U) & 0x3ffU);
    u32 r = magnitude < 0x38800000U ? small : normal;
    r = magnitude >= 0x47800000U ? 0x7c00U : r;
    r = magnitude > 0x7f800000U ? nan : r;
    return {static_cast<u16>(r | ((x >> 16U) & 0x8000U))};
}

/// Round towards zero.
HIPSCOPE_INLINE f16 narrow_toward_zero(f32 value) {
    const u32 x = bits<u32>(value);
    const u32 magnitude = x & 0x7fffffffU;
    u32 r = 0;
    if (magnitude > 0x7f800000U) {
        r = 0x7e00U | ((magnitude >> 13U) & 0x3ffU);
    } else if (magnitude == 0x7f800000U) {
        r = 0x7c00U;
    } else if (magnitude >= 0x47800000U) {
        r = 0x7bffU;
    } else if (magnitude >= 0x38800000U) {
        r = (magnitude - 0x38000000U) >> 13U;
    } else if (magnitude >= 0x33800000U) {
        r = ((magnitude & 0x7fffffU) | 0x800000U) >> (126U - (magnitude >> 23U));
    }
    return {static_cast<u16>(r | ((x >> 16U) & 0x8000U))};
}

/// `value` forced to an odd last bit where `error` (exact minus value) is not zero: rounding once more is then exact.
HIPSCOPE_INLINE f64 round_to_odd(f64 value, f64 error) {
    u64 b = bits<u64>(value);
    const bool away = (error < 0) != (value < 0);
    b -= static_cast<u64>((error != 0) & away & (value != 0));
    b |= static_cast<u64>(error != 0);
    return bits<f64>(b);
}

HIPSCOPE_INLINE f16 narrow(f64 value) {
    const f32 nearest = static_cast<f32>(value);
    u32 b = bits<u32>(nearest);
    const f64 back = static_cast<f64>(nearest);
    const bool inexact = (back != value) & (value == value) & ((b & 0x7fffffffU) != 0x7f800000U);
    b -= static_cast<u32>(inexact & (std::fabs(back) > std::fabs(value)));
    b |= static_cast<u32>(inexact);
    return narrow(bits<f32>(b));
}

HIPSCOPE_INLINE bool is_nan(f32 x) { return (bits<u32>(x) & 0x7fffffffU) > 0x7f800000U; }
HIPSCOPE_INLINE bool is_nan(f64 x) { return (bits<u64>(x) & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL; }
HIPSCOPE_INLINE bool is_nan(f16 x) { return (x.bits & 0x7fffU) > 0x7c00U; }
HIPSCOPE_INLINE f32 quiet(f32 x) { return bits<f32>(bits<u32>(x) | 0x00400000U); }
HIPSCOPE_INLINE f64 quiet(f64 x) { return bits<f64>(bits<u64>(x) | 0x0008000000000000ULL); }
HIPSCOPE_INLINE f16 quiet(f16 x) { return {static_cast<u16>(x.bits | 0x0200U)}; }
HIPSCOPE_INLINE bool is_signalling(f32 x) { return is_nan(x) && (bits<u32>(x) & 0x00400000U) == 0; }
HIPSCOPE_INLINE bool is_signalling(f64 x) { return is_nan(x) && (bits<u64>(x) & 0x0008000000000000ULL) == 0; }
HIPSCOPE_INLINE bool is_signalling(f16 x) { return is_nan(x) && (x.bits & 0x0200U) == 0; }

template <class T>
inline constexpr T default_nan{};
template <>
inline constexpr f32 default_nan<f32> = bits<f32>(0x7fc00000U);
template <>
inline constexpr f64 default_nan<f64> = bits<f64>(0x7ff8000000000000ULL);

/// Calls `f` on the operands, the first one last.
template <class F>
HIPSCOPE_INLINE void prefer_first(F) {}
template <class F, class T, class... Rest>
HIPSCOPE_INLINE void prefer_first(F f, T first, Rest... rest) {
    prefer_first(f, rest...);
    f(first);
}

/// The NaN that the vector ALU gives: the first NaN operand, quiet, else the positive default NaN.
template <class T, class... Operands>
HIPSCOPE_INLINE T with_gpu_nan(T result, Operands... operands) {
    T nan = default_nan<T>;
    const auto prefer = [&nan](T operand) { nan = is_nan(operand) ? quiet(operand) : nan; };
    prefer_first(prefer, operands...);
    return is_nan(result) ? nan : result;
}

template <class T>
HIPSCOPE_INLINE T add(T a, T b) { return with_gpu_nan<T>(a + b, a, b); }
template <class T>
HIPSCOPE_INLINE T sub(T a, T b) { return with_gpu_nan<T>(a - b, a, b); }
template <class T>
HIPSCOPE_INLINE T mul(T a, T b) { return with_gpu_nan<T>(a * b, a, b); }

HIPSCOPE_INLINE f16 add(f16 a, f16 b) { return narrow(add(widen(a), widen(b))); }
HIPSCOPE_INLINE f16 sub(f16 a, f16 b) { return narrow(sub(widen(a), widen(b))); }
HIPSCOPE_INLINE f16 mul(f16 a, f16 b) { return narrow(mul(widen(a), widen(b))); }

/// a * b + c rounded once: the product of two halves is exact in double, the sum is made odd where it is not.
HIPSCOPE_INLINE f64 exact_sum(f64 p, f64 c) {
    const f64 s = p + c;
    const f64 t = s - p;
    const f64 error = (p - (s - t)) + (c - t);
    return error == error ? round_to_odd(s, error) : s;
}
/// Fused multiply-add. Without the instruction, single precision goes through double, which vectorizes.
HIPSCOPE_INLINE f32 fused(f32 a, f32 b, f32 c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<f32>(exact_sum(f64{a} * f64{b}, f64{c}));
#endif
}
HIPSCOPE_INLINE f32 fma(f32 a, f32 b, f32 c) { return with_gpu_nan<f32>(fused(a, b, c), a, b, c); }
HIPSCOPE_INLINE f64 fma(f64 a, f64 b, f64 c) { return with_gpu_nan<f64>(__builtin_fma(a, b, c), a, b, c); }
HIPSCOPE_INLINE f16 fma(f16 a, f16 b, f16 c) {
    const f32 x = widen(a), y = widen(b), z = widen(c);
    const f16 r = narrow(exact_sum(f64{x} * f64{y}, f64{z}));
    const f16 nan = is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : is_nan(c) ? quiet(c) : f16{0x7e00};
    return is_nan(r) ? nan : r;
}

/// bfloat16: the upper half of a float.
HIPSCOPE_INLINE f32 widen_bfloat(u32 half) { return bits<f32>(half << 16U); }
HIPSCOPE_INLINE u32 narrow_bfloat(f32 x) {
    const u32 b = bits<u32>(x);
    const u32 rounded = (b + 0x7fffU + ((b >> 16U) & 1U)) >> 16U;
    return is_nan(x) ? ((b >> 16U) | 0x40U) : rounded;
}

/// Both halves of a register at once (packed atomics).
HIPSCOPE_INLINE u32 add_halves(u32 a, u32 b) {
    const u32 lo = add(f16{static_cast<u16>(a)}, f16{static_cast<u16>(b)}).bits;
    const u32 hi = add(f16{static_cast<u16>(a >> 16U)}, f16{static_cast<u16>(b >> 16U)}).bits;
    return lo | (hi << 16U);
}
HIPSCOPE_INLINE u32 add_bfloats(u32 a, u32 b) {
    const u32 lo = narrow_bfloat(add(widen_bfloat(a & 0xffffU), widen_bfloat(b & 0xffffU)));
    const u32 hi = narrow_bfloat(add(widen_bfloat(a >> 16U), widen_bfloat(b >> 16U)));
    return lo | (hi << 16U);
}

template <class T>
HIPSCOPE_INLINE bool sign_bit(T x) {
    if constexpr (sizeof(T) == 8) return (bits<u64>(x) >> 63U) != 0;
    else if constexpr (sizeof(T) == 4) return (bits<u32>(x) >> 31U) != 0;
    else return (x.bits >> 15U) != 0;
}
HIPSCOPE_INLINE f32 as_number(f32 x) { return x; }
HIPSCOPE_INLINE f64 as_number(f64 x) { return x; }
HIPSCOPE_INLINE f32 as_number(f16 x) { return widen(x); }

/// Bit patterns of a float format as integers: with the sign folded in they order like the numbers, -0 below +0.
template <class T>
struct Ordered;
template <>
struct Ordered<f32> {
    using Bits = i32;
    static constexpr i32 infinity = 0x7f800000, quiet_bit = 0x00400000, magnitude = 0x7fffffff, shift = 31;
};
template <>
struct Ordered<f64> {
    using Bits = i64;
    static constexpr i64 infinity = 0x7ff0000000000000, quiet_bit = 0x0008000000000000, magnitude = 0x7fffffffffffffff, shift = 63;
};
template <>
struct Ordered<f16> {
    using Bits = i32;  // sign-extended
    static constexpr i32 infinity = 0x7c00, quiet_bit = 0x0200, magnitude = 0x7fff, shift = 15;
};
template <class T>
HIPSCOPE_INLINE auto signed_bits(T x) {
    if constexpr (sizeof(T) == 2) return i32{static_cast<i16>(x.bits)};
    else return bits<typename Ordered<T>::Bits>(x);
}
template <class T>
HIPSCOPE_INLINE T from_signed_bits(typename Ordered<T>::Bits x) {
    if constexpr (sizeof(T) == 2) return f16{static_cast<u16>(x)};
    else return bits<T>(x);
}

/// IEEE 754-2008 minNum/maxNum with -0 < +0; a signalling NaN operand gives a quiet NaN (MODE.IEEE is on), of two quiet ones
/// the second is given.
template <bool least, class T>
HIPSCOPE_INLINE T extreme(T x, T y) {
    using O = Ordered<T>;
    const auto a = signed_bits(x), b = signed_bits(y);
    const auto key_a = a ^ ((a >> O::shift) & O::magnitude), key_b = b ^ ((b >> O::shift) & O::magnitude);
    const bool nan_a = (a & O::magnitude) > O::infinity, nan_b = (b & O::magnitude) > O::infinity;
    auto r = (least ? key_a < key_b : key_a > key_b) ? a : b;
    r = nan_b ? a : r;
    r = nan_a ? b : r;
    r = (nan_b & ((b & O::quiet_bit) == 0)) ? b : r;
    r = (nan_a & ((a & O::quiet_bit) == 0)) ? a : r;
    r = (r & O::magnitude) > O::infinity ? r | O::quiet_bit : r;
    return from_signed_bits<T>(r);
}
template <class T>
HIPSCOPE_INLINE T min_number(T a, T b) { return extreme<true>(a, b); }
template <class T>
HIPSCOPE_INLINE T max_number(T a, T b) { return extreme<false>(a, b); }

template <class T>
HIPSCOPE_INLINE T smaller(T a, T b) { return a < b ? a : b; }
template <class T>
HIPSCOPE_INLINE T larger(T a, T b) { return a < b ? b : a; }

/// Float to integer as v_cvt_*: truncation, saturation, NaN gives 0.
template <class I, class F>
HIPSCOPE_INLINE I saturate(F x) {
    constexpr F low = static_cast<F>(std::is_signed_v<I> ? -(I{1} << (sizeof(I) * 8 - 2)) * F{2} : F{0});
    constexpr F high = static_cast<F>(u64{1} << (sizeof(I) * 8 - 1)) * (std::is_signed_v<I> ? F{1} : F{2});
    constexpr I most = static_cast<I>(std::is_signed_v<I> ? ~(u64{1} << (sizeof(I) * 8 - 1)) : ~u64{0});
    constexpr I least = std::is_signed_v<I> ? static_cast<I>(u64{1} << (sizeof(I) * 8 - 1)) : I{0};
    if (x != x) return 0;
    if (x >= high) return most;
    if (x <= low) return least;
    return static_cast<I>(x);
}

/// To whole numbers as the host rounds: to nearest even unless MODE says otherwise.
HIPSCOPE_INLINE f32 round_even(f32 x) { return __builtin_rintf(x); }
HIPSCOPE_INLINE f64 round_even(f64 x) { return __builtin_rint(x); }

}  // namespace hipscope::HIPSCOPE_ISA
