// The numbers of BLAS: half precisions, complex ones, and in which type products of each are summed.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace blas {

template <class T>
struct Complex {
    T re, im;
};
using ComplexFloat = Complex<float>;
using ComplexDouble = Complex<double>;

template <class T>
constexpr Complex<T> operator+(Complex<T> a, Complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T>
constexpr Complex<T> operator-(Complex<T> a, Complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T>
constexpr Complex<T> operator-(Complex<T> a) { return {-a.re, -a.im}; }
template <class T>
constexpr Complex<T> operator*(Complex<T> a, Complex<T> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
template <class T>
constexpr Complex<T> operator*(T a, Complex<T> b) { return {a * b.re, a * b.im}; }
template <class T>
Complex<T> operator/(Complex<T> a, Complex<T> b) {
    // By the larger part, so that squares neither overflow nor vanish.
    if (std::fabs(b.re) >= std::fabs(b.im)) {
        const T r = b.im / b.re, d = b.re + b.im * r;
        return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    const T r = b.re / b.im, d = b.re * r + b.im;
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}
template <class T>
constexpr Complex<T>& operator+=(Complex<T>& a, Complex<T> b) { return a = a + b; }
template <class T>
constexpr Complex<T>& operator-=(Complex<T>& a, Complex<T> b) { return a = a - b; }
template <class T>
constexpr bool operator==(Complex<T> a, Complex<T> b) { return a.re == b.re && a.im == b.im; }

struct Half {
    std::uint16_t bits;
};
struct Bfloat16 {
    std::uint16_t bits;
};

inline float to_float(Half h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000U) << 16U, exponent = h.bits >> 10U & 31U, fraction = h.bits & 0x3ffU;
    float value = 0;
    if (exponent == 0) value = std::ldexp(static_cast<float>(fraction), -24);
    else {
        const std::uint32_t bits = exponent == 31 ? 0x7f800000U | fraction << 13U : (exponent + 112) << 23U | fraction << 13U;
        std::memcpy(&value, &bits, sizeof value);
    }
    return sign != 0 ? -value : value;
}
inline float to_float(Bfloat16 b) {
    const std::uint32_t bits = static_cast<std::uint32_t>(b.bits) << 16U;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
/// To the nearest, ties to even.
inline Half to_half(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
    const std::uint32_t size = bits & 0x7fffffffU;
    if (size > 0x7f800000U) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
    if (size >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
    if (size < 0x38800000U) {  // smaller than the smallest normal number: units of 2^-24
        const auto units = static_cast<std::uint16_t>(std::nearbyint(std::ldexp(std::fabs(value), 24)));
        return {static_cast<std::uint16_t>(sign | units)};
    }
    const std::uint32_t rounded = size - (112U << 23U) + 0xfffU + (size >> 13U & 1U);
    return {static_cast<std::uint16_t>(sign | rounded >> 13U)};
}
inline Bfloat16 to_bfloat16(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>(bits >> 16U | 0x40U)};
    return {static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U)};
}

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
    using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
constexpr T conjugate(T value) {
    if constexpr (is_complex<T>) return {value.re, -value.im};
    else return value;
}
template <class T>
constexpr T real_number(Real<T> value) {
    if constexpr (is_complex<T>) return {value, 0};
    else return value;
}
template <class T>
constexpr T zero() { return T{}; }

/// From one number type to another; a complex number keeps its parts.
template <class To, class From>
To as(From value) {
    if constexpr (std::is_same_v<To, From>) return value;
    else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, Bfloat16>) return as<To>(to_float(value));
    else if constexpr (std::is_same_v<To, Half>) return to_half(static_cast<float>(value));
    else if constexpr (std::is_same_v<To, Bfloat16>) return to_bfloat16(static_cast<float>(value));
    else if constexpr (is_complex<To> && is_complex<From>) return {static_cast<Real<To>>(value.re), static_cast<Real<To>>(value.im)};
    else return static_cast<To>(value);
}

/// What products of T are summed in.
template <class T>
struct SumOf {
    using type = T;
};
template <>
struct SumOf<Half> {
    using type = float;
};
template <>
struct SumOf<Bfloat16> {
    using type = float;
};
template <>
struct SumOf<std::int8_t> {
    using type = std::int32_t;
};
template <class T>
using Sum = typename SumOf<T>::type;

}  // namespace blas
