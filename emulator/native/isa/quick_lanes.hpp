// Special functions of whole waves as short polynomials, in loops over lanes that compilers vectorize.
#pragma once

#include <limits>

#include "isa/lanes.hpp"
#include "isa/quick_terms.hpp"

namespace hipscope::HIPSCOPE_ISA {

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

/// `quick` works out a value, `settled` gives what rounding it says nothing about: zeros, infinities, what is not defined.
struct Exp2 {
    HIPSCOPE_INLINE static f64 quick(f32 x) {
        const f32 low = x > 200.0F ? 200.0F : x, within = low < -200.0F ? -200.0F : low;
        const f32 n = __builtin_rintf(within);
        const f64 part = polynomial(exp2_terms, static_cast<f64>(within - n));
        return bits<f64>(bits<u64>(part) + (static_cast<u64>(static_cast<i64>(static_cast<i32>(n))) << 52U));
    }
    HIPSCOPE_INLINE static f32 settled(f32, f32 rounded) { return rounded; }
    static constexpr bool denormal_results = true;
};
struct Log2 {
    HIPSCOPE_INLINE static f64 quick(f32 x) {
        const u64 from_root = bits<u64>(static_cast<f64>(x)) - root_half;
        const f64 e = bits<f64>(((from_root >> 52U) ^ 0x800U) | 0x4330000000000000ULL) - (0x1p52 + 2048);
        const f64 m = bits<f64>((from_root & 0xfffffffffffffULL) + root_half);
        const f64 s = (m - 1.0) / (m + 1.0);
        return multiply_add(s, polynomial(log2_terms, s * s), e);
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
HIPSCOPE_INLINE f64 quick_sine(f64 turns) { return turns * polynomial(sine_terms, turns * turns); }  // in [-1/4, 1/4]
struct Sine {
    HIPSCOPE_INLINE static f64 quick(f32 x) {
        const f32 rest = x - __builtin_rintf(x), half_turns = __builtin_rintf(rest + rest);  // all differences are exact
        const f32 size = rest - half_turns * 0.5F;
        return quick_sine(static_cast<f64>(size * (1.0F - 2.0F * half_turns * half_turns)));
    }
    HIPSCOPE_INLINE static f32 settled(f32 x, f32 rounded) { return settled_sine(x, rounded); }
    static constexpr bool denormal_results = true;
};
struct Cosine {
    HIPSCOPE_INLINE static f64 quick(f32 x) { return quick_sine(0.25 - static_cast<f64>(std::fabs(x - __builtin_rintf(x)))); }
    HIPSCOPE_INLINE static f32 settled(f32 x, f32 rounded) { return settled_sine(x, rounded); }
    static constexpr bool denormal_results = false;
};

/// How far a double is above the place where the boundary between two floats begins to matter, in its own last bits.
HIPSCOPE_INLINE u64 above_boundary(f64 value) { return (bits<u64>(value) - before_boundary) & below_float; }
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
/// False when some results may be wrong, if only of lanes that are off.
template <class Function>
HIPSCOPE_INLINE bool quick_wave(const u32* from, u32* out, u64) {
    u64 nearest = ~u64{0};
    HIPSCOPE_EVERY_LANE out[i] = quick_result<Function>(bits<f32>(from[i]), nearest);
    return nearest >= boundary_zone && !(Function::denormal_results && any_denormal(out));
}

}  // namespace hipscope::HIPSCOPE_ISA
