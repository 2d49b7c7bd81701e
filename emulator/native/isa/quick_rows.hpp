// Special functions of whole waves as short polynomials, for AVX-512: it has instructions for most steps around the polynomial that
// compilers do not find in a loop over lanes.
#pragma once

#include "isa/lanes.hpp"
#include "isa/quick_terms.hpp"

namespace hipscope::HIPSCOPE_ISA {

#define HIPSCOPE_EVERY_QUARTER _Pragma("GCC unroll 4") for (int q = 0; q < 4; ++q)
#define HIPSCOPE_EVERY_PART _Pragma("GCC unroll 8") for (int i = 0; i < 8; ++i)

struct FloatRow {
    __m512 quarter[4];
};
/// Each operation is done for all lanes before the next: every one waits for the one before, and processors look only so far ahead.
struct DoubleRow {
    __m512d part[8];
};
HIPSCOPE_INLINE DoubleRow spread(f64 value) {
    DoubleRow r;
    HIPSCOPE_EVERY_PART r.part[i] = _mm512_set1_pd(value);
    return r;
}
HIPSCOPE_INLINE DoubleRow operator+(const DoubleRow& a, const DoubleRow& b) {
    DoubleRow r;
    HIPSCOPE_EVERY_PART r.part[i] = _mm512_add_pd(a.part[i], b.part[i]);
    return r;
}
HIPSCOPE_INLINE DoubleRow operator-(const DoubleRow& a, const DoubleRow& b) {
    DoubleRow r;
    HIPSCOPE_EVERY_PART r.part[i] = _mm512_sub_pd(a.part[i], b.part[i]);
    return r;
}
HIPSCOPE_INLINE DoubleRow operator*(const DoubleRow& a, const DoubleRow& b) {
    DoubleRow r;
    HIPSCOPE_EVERY_PART r.part[i] = _mm512_mul_pd(a.part[i], b.part[i]);
    return r;
}
/// a * b + c, and c - a * b.
HIPSCOPE_INLINE DoubleRow multiply_add(const DoubleRow& a, const DoubleRow& b, const DoubleRow& c) {
    DoubleRow r;
    HIPSCOPE_EVERY_PART r.part[i] = _mm512_fmadd_pd(a.part[i], b.part[i], c.part[i]);
    return r;
}
HIPSCOPE_INLINE DoubleRow subtract_product(const DoubleRow& a, const DoubleRow& b, const DoubleRow& c) {
    DoubleRow r;
    HIPSCOPE_EVERY_PART r.part[i] = _mm512_fnmadd_pd(a.part[i], b.part[i], c.part[i]);
    return r;
}
HIPSCOPE_INLINE DoubleRow widen(const FloatRow& x) {
    DoubleRow r;
    HIPSCOPE_EVERY_QUARTER {
        r.part[2 * q] = _mm512_cvtps_pd(_mm512_castps512_ps256(x.quarter[q]));
        r.part[2 * q + 1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x.quarter[q], 1));
    }
    return r;
}
/// Horner's rule from the k-th coefficient on.
template <std::size_t k = 0, std::size_t n>
HIPSCOPE_INLINE DoubleRow polynomial(const f64 (&c)[n], const DoubleRow& z) {
    if constexpr (k + 1 == n) return spread(c[k]);
    else return multiply_add(polynomial<k + 1>(c, z), z, spread(c[k]));
}

constexpr int whole = 0, halves = 1 << 4;  // rounding to multiples of 1 and of 1/2, ties to even
constexpr int infinite = 0x18, denormal = 0x20, negative = 0x50;  // classes of floats; negative: not zero
template <int classes>
HIPSCOPE_INLINE __mmask16 of_class(__mmask16 among, __m512 x) { return _mm512_mask_fpclass_ps_mask(among, x, classes); }
/// What _mm512_fixupimm_ps puts for operands of each class; 0 leaves the result alone.
constexpr int fixup(int zero, int positive_infinity) {
    constexpr int quiet_operand = 2;
    return quiet_operand | quiet_operand << 4 | zero << 8 | positive_infinity << 20;
}
constexpr int fixup_minus_infinity = 4, fixup_plus_infinity = 5, fixup_infinity_of_sign = 6, fixup_zero = 8;

/// x * 2^-n is what `value` works out; NaNs go through all steps as the vector ALU wants them.
struct Exp2 {
    HIPSCOPE_INLINE static DoubleRow value(FloatRow x) {
        HIPSCOPE_EVERY_QUARTER x.quarter[q] = _mm512_reduce_ps(x.quarter[q], whole);  // 0 for infinities
        return polynomial(exp2_terms, widen(x));
    }
    HIPSCOPE_INLINE static __m512 finished(__m512 x, __m512 rounded) { return _mm512_scalef_ps(rounded, _mm512_roundscale_ps(x, whole)); }
    HIPSCOPE_INLINE static __mmask16 doubtful(__mmask16 among, __m512, __m512 result) { return of_class<denormal>(among, result); }
};
/// With m in [sqrt(1/2), sqrt(2)) and s = (m - 1) / (m + 1) the logarithm of 2^e * m is e + s * polynomial(s^2).
struct Log2 {
    HIPSCOPE_INLINE static DoubleRow value(const FloatRow& x) {
        const DoubleRow wide = widen(x);
        DoubleRow e, m, guess;
        HIPSCOPE_EVERY_PART {
            const __m512i from_root = _mm512_sub_epi64(_mm512_castpd_si512(wide.part[i]), _mm512_set1_epi64(root_half));
            const __m512i field = _mm512_xor_si512(_mm512_srli_epi64(from_root, 52), _mm512_set1_epi64(0x4330000000000800LL));
            e.part[i] = _mm512_sub_pd(_mm512_castsi512_pd(field), _mm512_set1_pd(0x1p52 + 2048));
            const __m512i fraction = _mm512_and_si512(from_root, _mm512_set1_epi64(0xfffffffffffffLL));
            m.part[i] = _mm512_castsi512_pd(_mm512_add_epi64(fraction, _mm512_set1_epi64(root_half)));
        }
        const DoubleRow above = m + spread(1.0);
        HIPSCOPE_EVERY_PART guess.part[i] = _mm512_rcp14_pd(above.part[i]);
        const DoubleRow error = subtract_product(above, guess, spread(1.0));  // below 2^-14; 1 / (1 - error) is 1 + error + error^2
        const DoubleRow near = (m - spread(1.0)) * guess, s = multiply_add(near, multiply_add(error, error, error), near);
        return multiply_add(s, polynomial(log2_terms, s * s), e);
    }
    HIPSCOPE_INLINE static __m512 finished(__m512 x, __m512 rounded) {
        return _mm512_fixupimm_ps(rounded, x, _mm512_set1_epi32(fixup(fixup_minus_infinity, fixup_plus_infinity)), 0);
    }
    HIPSCOPE_INLINE static __mmask16 doubtful(__mmask16 among, __m512 x, __m512) { return of_class<negative>(among, x); }
};
/// sin(2 pi t) for t in [-1/4, 1/4]; never a negative zero.
HIPSCOPE_INLINE DoubleRow quick_sine(const DoubleRow& t) { return multiply_add(t, polynomial(sine_terms, t * t), spread(0.0)); }
struct Sine {
    HIPSCOPE_INLINE static DoubleRow value(FloatRow x) {
        HIPSCOPE_EVERY_QUARTER {  // all differences are exact
            const __m512 rest = _mm512_reduce_ps(x.quarter[q], whole), half_turn = _mm512_roundscale_ps(rest, halves);
            const __mmask16 turned = _mm512_cmp_ps_mask(half_turn, _mm512_setzero_ps(), _CMP_NEQ_OQ);  // no NaN
            const __m512 size = _mm512_sub_ps(rest, half_turn);
            x.quarter[q] = _mm512_mask_xor_ps(size, turned, size, _mm512_set1_ps(-0.0F));
        }
        return quick_sine(widen(x));
    }
    HIPSCOPE_INLINE static __m512 finished(__m512, __m512 rounded) { return rounded; }
    /// Results are denormal only of what is so itself.
    HIPSCOPE_INLINE static __mmask16 doubtful(__mmask16 among, __m512 x, __m512) { return of_class<denormal | infinite>(among, x); }
};
struct Cosine {
    HIPSCOPE_INLINE static DoubleRow value(FloatRow x) {
        HIPSCOPE_EVERY_QUARTER {
            const __m512 rest = _mm512_reduce_ps(x.quarter[q], whole);
            x.quarter[q] = _mm512_min_ps(_mm512_xor_ps(rest, _mm512_set1_ps(-0.0F)), rest);  // of a NaN the second, with its sign
        }
        return quick_sine(spread(0.25) + widen(x));
    }
    HIPSCOPE_INLINE static __m512 finished(__m512, __m512 rounded) { return rounded; }
    HIPSCOPE_INLINE static __mmask16 doubtful(__mmask16 among, __m512 x, __m512) { return of_class<infinite>(among, x); }
};
/// guess / sqrt(1 - error), with an error below 2^-13, as a series.
struct InverseRoot {
    HIPSCOPE_INLINE static DoubleRow value(const FloatRow& x) {
        constexpr f64 series[] = {1.0 / 2, 3.0 / 8, 5.0 / 16};
        const DoubleRow wide = widen(x);
        DoubleRow guess;
        HIPSCOPE_EVERY_PART guess.part[i] = _mm512_rsqrt14_pd(wide.part[i]);
        const DoubleRow error = subtract_product(wide * guess, guess, spread(1.0));
        return multiply_add(guess * error, polynomial(series, error), guess);
    }
    HIPSCOPE_INLINE static __m512 finished(__m512 x, __m512 rounded) {
        return _mm512_fixupimm_ps(rounded, x, _mm512_set1_epi32(fixup(fixup_infinity_of_sign, fixup_zero)), 0);
    }
    HIPSCOPE_INLINE static __mmask16 doubtful(__mmask16 among, __m512 x, __m512) { return of_class<negative>(among, x); }
};

/// Those of the lanes `among` whose values are near a boundary between two floats. What a float does not have of a double is all in
/// its low dword.
HIPSCOPE_INLINE __mmask16 near_boundary(__mmask16 among, __m512d first, __m512d second) {
    const __m512i low_dwords = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i low = _mm512_permutex2var_epi32(_mm512_castpd_si512(first), low_dwords, _mm512_castpd_si512(second));
    const __m512i above = _mm512_sub_epi32(low, _mm512_set1_epi32(static_cast<int>(before_boundary)));
    return _mm512_mask_testn_epi32_mask(among, above, _mm512_set1_epi32(static_cast<int>(below_float & ~(boundary_zone - 1))));
}
/// False when the results of some `active` lanes may be wrong.
template <class Function>
HIPSCOPE_INLINE bool quick_wave(const u32* from, u32* out, u64 active) {
    FloatRow x;
    HIPSCOPE_EVERY_QUARTER x.quarter[q] = _mm512_loadu_ps(from + 16 * q);
    const DoubleRow value = Function::value(x);
    u32 doubtful = 0;
    HIPSCOPE_EVERY_QUARTER {
        const __m512d first = value.part[2 * q], second = value.part[2 * q + 1];
        const __m512 rounded = _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(first)), _mm512_cvtpd_ps(second), 1);
        const __m512 result = Function::finished(x.quarter[q], rounded);
        const auto among = static_cast<__mmask16>(active >> (16 * q));
        doubtful |= near_boundary(among, first, second) | Function::doubtful(among, x.quarter[q], result);
        _mm512_storeu_ps(out + 16 * q, result);
    }
    return doubtful == 0;
}

}  // namespace hipscope::HIPSCOPE_ISA
