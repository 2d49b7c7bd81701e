// The OCP number formats of gfx950: 8-bit E4M3 and E5M2, 6-bit E2M3 and E3M2, 4-bit E2M1, with scales that are powers of 2.
// (gfx942's 8-bit floats are others: convert.cpp.) Values are exact in double precision; results are rounded once.
#pragma once

#include <limits>

#include "isa/number.hpp"

namespace hipscope::HIPSCOPE_ISA {

/// `special`: what the largest exponent holds. none: numbers; one_nan: the last code is NaN; ieee: infinity and NaNs.
enum class Special : u8 { none, one_nan, ieee };

template <u32 bits_, int mantissa_, int bias_, Special special_>
struct SmallFloat {
    static constexpr u32 bits = bits_;
    static constexpr int mantissa = mantissa_, bias = bias_;
    static constexpr Special special = special_;
    static constexpr u32 sign = 1U << (bits - 1U);
    static constexpr u32 infinity = special == Special::ieee ? ((sign - 1U) >> mantissa) << mantissa : sign;
    static constexpr u32 largest = special == Special::ieee ? infinity - 1U : special == Special::one_nan ? sign - 2U : sign - 1U;
};
using OcpFp8 = SmallFloat<8, 3, 7, Special::one_nan>;
using OcpBf8 = SmallFloat<8, 2, 15, Special::ieee>;
using OcpFp6 = SmallFloat<6, 3, 1, Special::none>;
using OcpBf6 = SmallFloat<6, 2, 3, Special::none>;
using OcpFp4 = SmallFloat<4, 1, 1, Special::none>;

/// The power of two of an E8M0 scale; 255 is NaN.
inline f64 scale_of(u32 exponent) {
    return exponent == 255 ? std::numeric_limits<f64>::quiet_NaN() : bits<f64>(static_cast<u64>(exponent + 896U) << 52U);
}

template <class F>
f64 from_small(u32 code) {
    const u32 magnitude = code & (F::sign - 1U);
    f64 value = 0;
    if (magnitude > F::largest) {
        value = magnitude == F::infinity ? std::numeric_limits<f64>::infinity() : std::numeric_limits<f64>::quiet_NaN();
    } else {
        const u32 fraction = magnitude & ((1U << F::mantissa) - 1U), exponent = magnitude >> F::mantissa;
        value = exponent == 0 ? std::ldexp(static_cast<f64>(fraction), 1 - F::bias - F::mantissa)
                              : std::ldexp(static_cast<f64>(fraction + (1U << F::mantissa)), static_cast<int>(exponent) - F::bias - F::mantissa);
    }
    return (code & F::sign) != 0 ? -value : value;
}

/// Steps of the last kept bit: nearest even, or with 32 bits of noise added below it and the rest cut off. `clamps`: what is too
/// large becomes the largest number.
struct Rounding {
    bool clamps = false;
    bool stochastic = false;
    u32 noise = 0;
    [[nodiscard]] f64 operator()(f64 steps) const { return stochastic ? std::floor(steps + static_cast<f64>(noise) * 0x1p-32) : round_even(steps); }
};

/// Too large: NaN (E4M3), infinity (E5M2) unless clamped, else the largest number, which NaN becomes too.
template <class F>
u32 to_small(f64 value, Rounding rounding) {
    const u32 sign = sign_bit(value) ? F::sign : 0U;
    const u32 beyond = rounding.clamps ? F::largest : F::special == Special::ieee ? F::infinity : F::special == Special::one_nan ? F::largest + 1U : F::largest;
    if (is_nan(value)) return sign | (F::special == Special::none ? F::largest : F::sign - 1U);
    if (std::isinf(value)) return sign | beyond;
    const f64 magnitude = std::fabs(value);
    int e = 0;
    std::frexp(magnitude, &e);
    const int lowest = 1 - F::bias, exponent = e - 1 < lowest ? lowest : e - 1;
    const f64 steps = rounding(std::ldexp(magnitude, F::mantissa - exponent));
    if (exponent - lowest > 64) return sign | beyond;
    u32 code = static_cast<u32>(steps);
    if (code >= (1U << F::mantissa)) code += static_cast<u32>(exponent - lowest) << F::mantissa;
    return sign | (code > F::largest ? beyond : code);
}

/// v_prng_b32: one step of the generator that also feeds the later values of a stochastic conversion.
HIPSCOPE_INLINE u32 next_random(u32 x) { return (x << 1U) ^ ((x >> 31U) != 0 ? 197U : 0U); }

}  // namespace hipscope::HIPSCOPE_ISA
