// What MODE changes in a result beyond the host's own rounding: half precision, and signalling NaNs in minimum and maximum.
//
// A row's lambda takes one of these as its first parameter and asks it for what depends on MODE: UsualMode in waves whose MODE is as
// clang's kernels have it from the start, FlushingMode where it differs in denormals alone, OtherMode in all others.
#pragma once

#include "isa/mode.hpp"
#include "isa/number.hpp"

namespace hipscope::HIPSCOPE_ISA {

struct UsualMode {
    /// To a half: as MODE rounds, or to nearest whatever it says.
    template <class T>
    HIPSCOPE_INLINE static f16 narrow(T value) { return HIPSCOPE_ISA::narrow(value); }
    template <class T>
    HIPSCOPE_INLINE static f16 nearest(T value) { return HIPSCOPE_ISA::narrow(value); }
    /// A half that was worked out without MODE; `overflowed`: if it is infinite, it is so by its size alone.
    HIPSCOPE_INLINE static f16 limited(f16 value, bool /*overflowed*/) { return value; }
    HIPSCOPE_INLINE static f16 flushed(f16 value) { return value; }
    template <class T>
    HIPSCOPE_INLINE static T add(T a, T b) { return HIPSCOPE_ISA::add(a, b); }
    template <class T>
    HIPSCOPE_INLINE static T sub(T a, T b) { return HIPSCOPE_ISA::sub(a, b); }
    template <class T>
    HIPSCOPE_INLINE static T mul(T a, T b) { return HIPSCOPE_ISA::mul(a, b); }
    template <class T>
    HIPSCOPE_INLINE static T fma(T a, T b, T c) { return HIPSCOPE_ISA::fma(a, b, c); }
    template <class T>
    HIPSCOPE_INLINE static T min(T a, T b) { return min_number(a, b); }
    template <class T>
    HIPSCOPE_INLINE static T max(T a, T b) { return max_number(a, b); }
};

/// Denormals as MODE lets them through: where they are not kept they are zero with their sign.
struct Denormals {
    u32 mode;

    explicit Denormals(u32 value) : mode(value) {}
    template <class T>
    [[nodiscard]] HIPSCOPE_INLINE T operand(T x) const {
        if constexpr (has_denormals<T>) return flush(x, keeps_operands(is_half_or_double<T>));
        else return x;
    }
    template <class T>
    [[nodiscard]] HIPSCOPE_INLINE T result(T x) const {
        if constexpr (has_denormals<T>) return flush(x, keeps_results(is_half_or_double<T>));
        else return x;
    }

    [[nodiscard]] f16 flushed(f16 value) const { return result(value); }

private:
    template <class T>
    static constexpr bool is_pair = requires(T x) { x.lo.bits; };
    template <class T>
    static constexpr bool is_half_or_double = std::is_same_v<T, f16> || std::is_same_v<T, f64> || is_pair<T>;
    template <class T>
    static constexpr bool has_denormals = is_half_or_double<T> || std::is_same_v<T, f32>;

    [[nodiscard]] bool keeps_operands(bool wide) const { return ((mode >> (wide ? 6U : 4U)) & 1U) != 0; }
    [[nodiscard]] bool keeps_results(bool wide) const { return ((mode >> (wide ? 7U : 5U)) & 1U) != 0; }

    template <class T>
    HIPSCOPE_INLINE static T flush(T x, bool keep) {
        if constexpr (is_pair<T>) {
            return {flush(x.lo, keep), flush(x.hi, keep)};
        } else {
            using O = Ordered<T>;
            constexpr auto smallest_normal = O::infinity & -O::infinity;
            const auto b = signed_bits(x);
            const bool lost = !keep & ((b & O::magnitude) < smallest_normal);  // no choices, so that loops vectorize
            return from_signed_bits<T>(b & ~(lost ? O::magnitude : decltype(b){0}));
        }
    }
};

/// MODE differs in denormals alone: what programs built with -fgpu-flush-denormals-to-zero have.
struct FlushingMode : Denormals, UsualMode {
    using Denormals::Denormals;
    using Denormals::flushed;
};

/// The host rounds to nearest and keeps denormals while these work.
struct OtherMode : Denormals {
    using Denormals::Denormals;

    [[nodiscard]] f16 narrow(f64 value) const {
        const u32 rounding = (mode >> 2U) & 3U;
        const f16 result = rounding == 0 || value != value ? HIPSCOPE_ISA::narrow(value) : directed(value, rounding);
        return limited(result, !std::isinf(value));
    }
    [[nodiscard]] f16 narrow(f32 value) const { return narrow(static_cast<f64>(value)); }
    template <class T>
    [[nodiscard]] f16 nearest(T value) const { return limited(HIPSCOPE_ISA::narrow(value), !std::isinf(value)); }
    [[nodiscard]] f16 limited(f16 value, bool overflowed) const {
        const bool infinite = (value.bits & 0x7fffU) == 0x7c00U;
        return infinite && overflowed && clamps_overflow(mode) ? f16{static_cast<u16>(value.bits - 1U)} : value;
    }

    [[nodiscard]] f16 add(f16 a, f16 b) const { return sum(widen(a), widen(b), a, b); }
    [[nodiscard]] f16 sub(f16 a, f16 b) const { return sum(widen(a), -static_cast<f64>(widen(b)), a, b); }
    [[nodiscard]] f16 mul(f16 a, f16 b) const {
        return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : defined(static_cast<f64>(widen(a)) * static_cast<f64>(widen(b)));
    }
    [[nodiscard]] f16 fma(f16 a, f16 b, f16 c) const {
        if (is_nan(a) || is_nan(b) || is_nan(c)) return HIPSCOPE_ISA::fma(a, b, c);
        return exact(static_cast<f64>(widen(a)) * static_cast<f64>(widen(b)), static_cast<f64>(widen(c)));
    }
    [[nodiscard]] f32 add(f32 a, f32 b) const { return single(a, b, 0, [](f32 x, f32 y, f32) { return HIPSCOPE_ISA::add(x, y); }); }
    [[nodiscard]] f32 mul(f32 a, f32 b) const { return single(a, b, 0, [](f32 x, f32 y, f32) { return HIPSCOPE_ISA::mul(x, y); }); }
    [[nodiscard]] f32 fma(f32 a, f32 b, f32 c) const {
        return single(a, b, c, [](f32 x, f32 y, f32 z) { return with_gpu_nan<f32>(__builtin_fmaf(x, y, z), x, y, z); });
    }
    /// Without IEEE mode a signalling NaN is a NaN like any other, and the other operand is given as it is.
    template <class T>
    [[nodiscard]] T min(T a, T b) const { return extreme_of<true>(a, b); }
    template <class T>
    [[nodiscard]] T max(T a, T b) const { return extreme_of<false>(a, b); }

private:
    /// Neither NaN nor rounded to nearest: cut off, then one step away from zero if that is the direction.
    static f16 directed(f64 value, u32 rounding) {
        const u16 sign = sign_bit(value) ? 0x8000 : 0;
        const f64 size = std::fabs(value);
        if (std::isinf(value)) return {static_cast<u16>(sign | 0x7c00U)};
        u32 code = 0x7bff;
        bool inexact = true;
        if (size < 0x1p16) {
            const int exponent = static_cast<int>((bits<u64>(size) >> 52U) & 0x7ffU) - 1023, field = exponent < -14 ? -14 : exponent;
            const f64 steps = std::ldexp(size, 10 - field), whole = std::floor(steps);
            code = static_cast<u32>(whole) + (static_cast<u32>(field + 14) << 10U);
            inexact = whole != steps;
        }
        const bool away = rounding == (sign != 0 ? 2U : 1U);
        return {static_cast<u16>(sign | (code + static_cast<u32>(inexact && away)))};
    }
    [[nodiscard]] f16 defined(f64 value) const { return value == value ? narrow(value) : f16{0x7e00}; }
    /// The sum of two numbers that are doubles. What cancels is -0 when MODE rounds down.
    [[nodiscard]] f16 exact(f64 x, f64 y) const {
        const f64 total = exact_sum(x, y);
        const bool cancelled = total == 0 && sign_bit(x) != sign_bit(y);
        return cancelled && ((mode >> 2U) & 3U) == 2 ? f16{0x8000} : defined(total);
    }
    [[nodiscard]] f16 sum(f64 x, f64 y, f16 a, f16 b) const { return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : exact(x, y); }

    /// One operation in single precision, rounded by the host as MODE says. `volatile` keeps it between the changes of the host's mode.
    template <class F>
    [[nodiscard]] f32 single(f32 a, f32 b, f32 c, F f) const {
        const volatile f32 x = a, y = b, z = c;
        volatile f32 r = 0;
        const ModeGuard guard = ModeGuard::when(true, false, false, mode);
        r = f(x, y, z);
        return r;
    }
    template <bool least, class T>
    [[nodiscard]] T extreme_of(T a, T b) const {
        const bool ieee = ((mode >> mode_ieee_bit) & 1U) != 0;
        if (!ieee && is_nan(a)) return b;
        if (!ieee && is_nan(b)) return a;
        return extreme<least>(a, b);
    }
};

}  // namespace hipscope::HIPSCOPE_ISA
