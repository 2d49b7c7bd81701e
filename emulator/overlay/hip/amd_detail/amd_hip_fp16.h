// Half precision for HIP 5, with the types, members and functions that HIP 6.3 has: of a pair, x and y are numbers of type
// __half; HIP 5 has their bits as integers there, which a program of today takes for numbers. A header of HIP 6 comes first.
// Beyond HIP 6.3: arithmetic and comparisons of two __half or two __half2 in host code, and what programs use from later
// versions (fused multiply-add with a floor of 0, complex multiply-add).
#pragma once

#include <hip/hip_version.h>

#if HIP_VERSION_MAJOR >= 6 || !defined(__cplusplus) || !defined(__clang__) || !defined(__HIP__)
#include_next <hip/amd_detail/amd_hip_fp16.h>
#else

#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H  // the header that this one stands for
#include <hip/hip_runtime.h>

#include <type_traits>

#define HIPSCOPE_BOTH __host__ __device__ inline
#define HIPSCOPE_DEVICE __device__ inline
// What CUDA has and HIP 6 has not: a program's own function of that name is another one, and comes first.
#define HIPSCOPE_EXTRA template <typename = void> HIPSCOPE_DEVICE

typedef _Float16 _Float16_2 __attribute__((ext_vector_type(2)));

struct __half_raw {
  union {
    _Float16 data;
    unsigned short x;
  };
};
struct __half2_raw {
  union {
    struct {
      __half_raw x, y;
    };
    _Float16_2 data;
  };
};

namespace std {
template <>
struct is_floating_point<_Float16> : true_type {};
}  // namespace std

namespace hipscope_half {
template <typename T>
using IfNumber =
    typename std::enable_if<std::is_floating_point<T>::value || std::is_integral<T>::value>::type*;
}  // namespace hipscope_half

struct __half {
 protected:
  union {
    _Float16 data;
    unsigned short __x;
  };

 public:
  __half() = default;
  HIPSCOPE_BOTH __half(const __half_raw& raw) : data{raw.data} {}
  __half(const __half&) = default;
  __half(__half&&) = default;
  __half& operator=(const __half&) = default;
  __half& operator=(__half&&) = default;
  HIPSCOPE_BOTH __half& operator=(const __half_raw& raw) {
    data = raw.data;
    return *this;
  }
  HIPSCOPE_BOTH volatile __half& operator=(const __half_raw& raw) volatile {
    data = raw.data;
    return *this;
  }
  HIPSCOPE_BOTH volatile __half& operator=(const volatile __half_raw& raw) volatile {
    data = raw.data;
    return *this;
  }
  HIPSCOPE_BOTH operator __half_raw() const { return __half_raw{{data}}; }
  HIPSCOPE_BOTH operator __half_raw() const volatile { return __half_raw{{data}}; }

#if !defined(__HIP_NO_HALF_CONVERSIONS__)
  HIPSCOPE_BOTH __half(_Float16 number) : data{number} {}
  template <typename T, hipscope_half::IfNumber<T> = nullptr>
  HIPSCOPE_BOTH __half(T number) : data{static_cast<_Float16>(number)} {}
  template <typename T, hipscope_half::IfNumber<T> = nullptr>
  HIPSCOPE_BOTH __half& operator=(T number) {
    data = static_cast<_Float16>(number);
    return *this;
  }
  template <typename T, hipscope_half::IfNumber<T> = nullptr>
  HIPSCOPE_BOTH operator T() const { return data; }
#endif

#if !defined(__HIP_NO_HALF_OPERATORS__)
  HIPSCOPE_BOTH __half& operator+=(const __half& y) { data += y.data; return *this; }
  HIPSCOPE_BOTH __half& operator-=(const __half& y) { data -= y.data; return *this; }
  HIPSCOPE_BOTH __half& operator*=(const __half& y) { data *= y.data; return *this; }
  HIPSCOPE_BOTH __half& operator/=(const __half& y) { data /= y.data; return *this; }
  HIPSCOPE_BOTH __half& operator++() { ++data; return *this; }
  HIPSCOPE_BOTH __half& operator--() { --data; return *this; }
  HIPSCOPE_BOTH __half operator++(int) { const __half before{*this}; ++data; return before; }
  HIPSCOPE_BOTH __half operator--(int) { const __half before{*this}; --data; return before; }
  HIPSCOPE_BOTH __half operator+() const { return *this; }
  HIPSCOPE_BOTH __half operator-() const { return __half_raw{{static_cast<_Float16>(-data)}}; }
  friend HIPSCOPE_DEVICE __half operator+(const __half& x, const __half& y) { return __half{x} += y; }
  friend HIPSCOPE_DEVICE __half operator-(const __half& x, const __half& y) { return __half{x} -= y; }
  friend HIPSCOPE_DEVICE __half operator*(const __half& x, const __half& y) { return __half{x} *= y; }
  friend HIPSCOPE_DEVICE __half operator/(const __half& x, const __half& y) { return __half{x} /= y; }
  friend HIPSCOPE_DEVICE bool operator==(const __half& x, const __half& y) { return x.data == y.data; }
  friend HIPSCOPE_DEVICE bool operator!=(const __half& x, const __half& y) { return x.data != y.data; }
  friend HIPSCOPE_DEVICE bool operator<(const __half& x, const __half& y) { return x.data < y.data; }
  friend HIPSCOPE_DEVICE bool operator>(const __half& x, const __half& y) { return x.data > y.data; }
  // Not greater: true of NaN, as in HIP.
  friend HIPSCOPE_DEVICE bool operator<=(const __half& x, const __half& y) { return !(x.data > y.data); }
  friend HIPSCOPE_DEVICE bool operator>=(const __half& x, const __half& y) { return !(x.data < y.data); }
#endif
};

struct __half2 {
  union {
    struct {
      __half x, y;
    };
    _Float16_2 data;
  };

  __half2() = default;
  HIPSCOPE_BOTH __half2(const __half2_raw& raw) : data{raw.data} {}
  HIPSCOPE_BOTH __half2(_Float16_2 pair) : data{pair} {}
  HIPSCOPE_BOTH __half2(const __half& low, const __half& high)
      : data{static_cast<__half_raw>(low).data, static_cast<__half_raw>(high).data} {}
  __half2(const __half2&) = default;
  __half2(__half2&&) = default;
  __half2& operator=(const __half2&) = default;
  __half2& operator=(__half2&&) = default;
  HIPSCOPE_BOTH __half2& operator=(const __half2_raw& raw) {
    data = raw.data;
    return *this;
  }
  HIPSCOPE_BOTH operator _Float16_2() const { return data; }
  HIPSCOPE_BOTH operator __half2_raw() const {
    __half2_raw raw;
    raw.data = data;
    return raw;
  }

#if !defined(__HIP_NO_HALF_OPERATORS__)
  HIPSCOPE_BOTH __half2& operator+=(const __half2& b) { data += b.data; return *this; }
  HIPSCOPE_BOTH __half2& operator-=(const __half2& b) { data -= b.data; return *this; }
  HIPSCOPE_BOTH __half2& operator*=(const __half2& b) { data *= b.data; return *this; }
  HIPSCOPE_BOTH __half2& operator/=(const __half2& b) { data /= b.data; return *this; }
  HIPSCOPE_BOTH __half2& operator++() { return *this += _Float16_2{1, 1}; }
  HIPSCOPE_BOTH __half2& operator--() { return *this -= _Float16_2{1, 1}; }
  HIPSCOPE_BOTH __half2 operator++(int) { const __half2 before{*this}; ++*this; return before; }
  HIPSCOPE_BOTH __half2 operator--(int) { const __half2 before{*this}; --*this; return before; }
  HIPSCOPE_BOTH __half2 operator+() const { return *this; }
  HIPSCOPE_BOTH __half2 operator-() const { return _Float16_2(-data); }
  friend HIPSCOPE_DEVICE __half2 operator+(const __half2& a, const __half2& b) { return _Float16_2(a.data + b.data); }
  friend HIPSCOPE_DEVICE __half2 operator-(const __half2& a, const __half2& b) { return _Float16_2(a.data - b.data); }
  friend HIPSCOPE_DEVICE __half2 operator*(const __half2& a, const __half2& b) { return _Float16_2(a.data * b.data); }
  friend HIPSCOPE_DEVICE __half2 operator/(const __half2& a, const __half2& b) { return _Float16_2(a.data / b.data); }
  // True when it holds for both; <= and >= negate that, and != means that one differs, as in HIP.
  friend HIPSCOPE_DEVICE bool operator==(const __half2& a, const __half2& b) { return a.data.x == b.data.x && a.data.y == b.data.y; }
  friend HIPSCOPE_DEVICE bool operator!=(const __half2& a, const __half2& b) { return !(a == b); }
  friend HIPSCOPE_DEVICE bool operator<(const __half2& a, const __half2& b) { return a.data.x < b.data.x && a.data.y < b.data.y; }
  friend HIPSCOPE_DEVICE bool operator>(const __half2& a, const __half2& b) { return b < a; }
  friend HIPSCOPE_DEVICE bool operator<=(const __half2& a, const __half2& b) { return !(b < a); }
  friend HIPSCOPE_DEVICE bool operator>=(const __half2& a, const __half2& b) { return !(a < b); }
#endif
};

#if !defined(HIP_NO_HALF)
using half = __half;
using half2 = __half2;
#endif

// In host code HIP has none of these. They take two of the same type only, so that `half * float` stays a product of floats.
#if !defined(__HIP_NO_HALF_OPERATORS__)
namespace hipscope_half {
HIPSCOPE_BOTH _Float16 number(const __half& a) { return static_cast<__half_raw>(a).data; }
HIPSCOPE_BOTH bool equal(const __half& a, const __half& b) { return number(a) == number(b); }
HIPSCOPE_BOTH bool less(const __half& a, const __half& b) { return number(a) < number(b); }
HIPSCOPE_BOTH bool equal(const __half2& a, const __half2& b) { return a.data.x == b.data.x && a.data.y == b.data.y; }
HIPSCOPE_BOTH bool less(const __half2& a, const __half2& b) { return a.data.x < b.data.x && a.data.y < b.data.y; }
template <typename A, typename B, typename Result>
using Same = typename std::enable_if<
    std::is_same<A, B>::value && (std::is_same<A, __half>::value || std::is_same<A, __half2>::value), Result>::type;
}  // namespace hipscope_half
#define HIPSCOPE_HOST_OPERATOR(op, result, value)                                                  \
  template <typename A, typename B>                                                                \
  __host__ inline hipscope_half::Same<A, B, result> operator op(const A& x, const B& y) { return value; }
HIPSCOPE_HOST_OPERATOR(+, A, A{x} += y)
HIPSCOPE_HOST_OPERATOR(-, A, A{x} -= y)
HIPSCOPE_HOST_OPERATOR(*, A, A{x} *= y)
HIPSCOPE_HOST_OPERATOR(/, A, A{x} /= y)
HIPSCOPE_HOST_OPERATOR(==, bool, hipscope_half::equal(x, y))
HIPSCOPE_HOST_OPERATOR(!=, bool, !hipscope_half::equal(x, y))
HIPSCOPE_HOST_OPERATOR(<, bool, hipscope_half::less(x, y))
HIPSCOPE_HOST_OPERATOR(>, bool, hipscope_half::less(y, x))
HIPSCOPE_HOST_OPERATOR(<=, bool, !hipscope_half::less(y, x))
HIPSCOPE_HOST_OPERATOR(>=, bool, !hipscope_half::less(x, y))
#undef HIPSCOPE_HOST_OPERATOR
#endif

namespace {

// Pairs and their numbers
HIPSCOPE_BOTH _Float16 hipscope_of(__half a) { return static_cast<__half_raw>(a).data; }
HIPSCOPE_BOTH __half hipscope_half_of(_Float16 a) { return __half_raw{{a}}; }
HIPSCOPE_BOTH __half2 make_half2(__half x, __half y) { return {x, y}; }
HIPSCOPE_BOTH __half2 __halves2half2(__half x, __half y) { return {x, y}; }
HIPSCOPE_BOTH __half2 __half2half2(__half x) { return {x, x}; }
HIPSCOPE_BOTH __half __low2half(__half2 a) { return a.x; }
HIPSCOPE_BOTH __half __high2half(__half2 a) { return a.y; }
HIPSCOPE_BOTH __half2 __low2half2(__half2 a) { return _Float16_2{a.data.x, a.data.x}; }
HIPSCOPE_BOTH __half2 __high2half2(__half2 a) { return _Float16_2{a.data.y, a.data.y}; }
HIPSCOPE_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return _Float16_2{a.data.x, b.data.x}; }
HIPSCOPE_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return _Float16_2{a.data.y, b.data.y}; }
HIPSCOPE_BOTH __half2 __lowhigh2highlow(__half2 a) { return _Float16_2{a.data.y, a.data.x}; }

// Bits
HIPSCOPE_BOTH short __half_as_short(__half a) { return static_cast<short>(static_cast<__half_raw>(a).x); }
HIPSCOPE_BOTH unsigned short __half_as_ushort(__half a) { return static_cast<__half_raw>(a).x; }
HIPSCOPE_BOTH __half __ushort_as_half(unsigned short bits) {
  __half_raw raw;
  raw.x = bits;
  return raw;
}
HIPSCOPE_BOTH __half __short_as_half(short bits) { return __ushort_as_half(static_cast<unsigned short>(bits)); }

// float; in host code HIP rounds to nearest whatever the name says
HIPSCOPE_BOTH __half __float2half(float f) { return hipscope_half_of(static_cast<_Float16>(f)); }
HIPSCOPE_BOTH __half __float2half_rn(float f) { return __float2half(f); }
__host__ inline __half __float2half_rz(float f) { return __float2half(f); }
__host__ inline __half __float2half_rd(float f) { return __float2half(f); }
__host__ inline __half __float2half_ru(float f) { return __float2half(f); }
HIPSCOPE_DEVICE __half __float2half_rz(float f) { return hipscope_half_of(__builtin_bit_cast(_Float16_2, __builtin_amdgcn_cvt_pkrtz(f, 0)).x); }
/// The number that `__float2half_rz` gives, or the next one away from zero.
HIPSCOPE_DEVICE __half hipscope_away(float f, bool away) {
  const __half nearer = __float2half_rz(f);
  return away && hipscope_of(nearer) != f ? __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(nearer) + 1)) : nearer;
}
HIPSCOPE_DEVICE __half __float2half_rd(float f) { return hipscope_away(f, f < 0); }
HIPSCOPE_DEVICE __half __float2half_ru(float f) { return hipscope_away(f, f > 0); }
HIPSCOPE_BOTH __half2 __floats2half2_rn(float x, float y) { return _Float16_2{static_cast<_Float16>(x), static_cast<_Float16>(y)}; }
HIPSCOPE_BOTH __half2 __float2half2_rn(float f) { return __floats2half2_rn(f, f); }
HIPSCOPE_BOTH __half2 __float22half2_rn(float2 f) { return __floats2half2_rn(f.x, f.y); }
HIPSCOPE_BOTH float __half2float(__half a) { return hipscope_of(a); }
HIPSCOPE_BOTH float __low2float(__half2 a) { return a.data.x; }
HIPSCOPE_BOTH float __high2float(__half2 a) { return a.data.y; }
HIPSCOPE_BOTH float2 __half22float2(__half2 a) { return make_float2(a.data.x, a.data.y); }

// Integers; HIP rounds towards zero from half and to nearest to half, whatever the name says
#define HIPSCOPE_INTEGER(name, type, round)                                                                      \
  HIPSCOPE_BOTH type __half2##name##_##round(__half a) { return static_cast<type>(hipscope_of(a)); }             \
  HIPSCOPE_BOTH __half __##name##2half_##round(type i) { return hipscope_half_of(static_cast<_Float16>(i)); }
#define HIPSCOPE_INTEGERS(name, type) \
  HIPSCOPE_INTEGER(name, type, rn)    \
  HIPSCOPE_INTEGER(name, type, rz)    \
  HIPSCOPE_INTEGER(name, type, rd)    \
  HIPSCOPE_INTEGER(name, type, ru)
HIPSCOPE_INTEGERS(short, short)
HIPSCOPE_INTEGERS(ushort, unsigned short)
HIPSCOPE_INTEGERS(int, int)
HIPSCOPE_INTEGERS(uint, unsigned)
HIPSCOPE_INTEGERS(ll, long long)
HIPSCOPE_INTEGERS(ull, unsigned long long)
#undef HIPSCOPE_INTEGERS
#undef HIPSCOPE_INTEGER

// Loads
#define HIPSCOPE_LOAD(name)                                      \
  HIPSCOPE_BOTH __half name(const __half* from) { return *from; } \
  HIPSCOPE_BOTH __half2 name(const __half2* from) { return *from; }
HIPSCOPE_LOAD(__ldg)
HIPSCOPE_LOAD(__ldca)
HIPSCOPE_LOAD(__ldcg)
HIPSCOPE_LOAD(__ldcs)
#undef HIPSCOPE_LOAD

// Comparisons. Those whose name ends in u are true for NaN. Of pairs: 1 or 0 for each number, or one answer for both.
#define HIPSCOPE_COMPARE(name, condition)                                                                     \
  HIPSCOPE_BOTH bool __h##name(__half a, __half b) {                                                          \
    const _Float16 x = hipscope_of(a), y = hipscope_of(b);                                                    \
    return condition;                                                                                         \
  }                                                                                                           \
  HIPSCOPE_BOTH bool __hb##name##2(__half2 a, __half2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
  HIPSCOPE_BOTH __half2 __h##name##2(__half2 a, __half2 b) {                                                  \
    return _Float16_2{static_cast<_Float16>(__h##name(a.x, b.x)), static_cast<_Float16>(__h##name(a.y, b.y))}; \
  }
HIPSCOPE_COMPARE(eq, x == y)
HIPSCOPE_COMPARE(ne, x != y)
HIPSCOPE_COMPARE(lt, x < y)
HIPSCOPE_COMPARE(le, x <= y)
HIPSCOPE_COMPARE(gt, x > y)
HIPSCOPE_COMPARE(ge, x >= y)
HIPSCOPE_COMPARE(equ, !(x < y) && !(x > y))
HIPSCOPE_COMPARE(neu, !(x == y))
HIPSCOPE_COMPARE(ltu, !(x >= y))
HIPSCOPE_COMPARE(leu, !(x > y))
HIPSCOPE_COMPARE(gtu, !(x <= y))
HIPSCOPE_COMPARE(geu, !(x < y))
#undef HIPSCOPE_COMPARE
HIPSCOPE_BOTH bool __hisnan(__half a) { return hipscope_of(a) != hipscope_of(a); }
HIPSCOPE_BOTH bool __hisinf(__half a) { return (static_cast<__half_raw>(a).x & 0x7fffu) == 0x7c00u; }
HIPSCOPE_BOTH __half2 __hisnan2(__half2 a) { return _Float16_2{static_cast<_Float16>(__hisnan(a.x)), static_cast<_Float16>(__hisnan(a.y))}; }
HIPSCOPE_BOTH __half2 __hisinf2(__half2 a) { return _Float16_2{static_cast<_Float16>(__hisinf(a.x)), static_cast<_Float16>(__hisinf(a.y))}; }

// Arithmetic. _sat: held between 0 and 1. Of a number and NaN the smaller and the larger one are the number; _nan: NaN.
HIPSCOPE_BOTH __half __clamp_01(__half a) {
  return __hlt(a, hipscope_half_of(0)) ? hipscope_half_of(0) : __hlt(hipscope_half_of(1), a) ? hipscope_half_of(1) : a;
}
HIPSCOPE_BOTH __half2 hipscope_clamp_01(__half2 a) { return {__clamp_01(a.x), __clamp_01(a.y)}; }
#define HIPSCOPE_ARITHMETIC(name, pair_name, op)                                                                               \
  HIPSCOPE_BOTH __half name(__half a, __half b) { return hipscope_half_of(static_cast<_Float16>(hipscope_of(a) op hipscope_of(b))); } \
  HIPSCOPE_BOTH __half2 pair_name(__half2 a, __half2 b) { return _Float16_2(a.data op b.data); }
HIPSCOPE_ARITHMETIC(__hadd, __hadd2, +)
HIPSCOPE_ARITHMETIC(__hsub, __hsub2, -)
HIPSCOPE_ARITHMETIC(__hmul, __hmul2, *)
HIPSCOPE_ARITHMETIC(__hdiv, __h2div, /)
#undef HIPSCOPE_ARITHMETIC
#define HIPSCOPE_SATURATED(of)                                                                      \
  HIPSCOPE_BOTH __half of##_sat(__half a, __half b) { return __clamp_01(of(a, b)); }                \
  HIPSCOPE_BOTH __half2 of##2_sat(__half2 a, __half2 b) { return hipscope_clamp_01(of##2(a, b)); }
HIPSCOPE_SATURATED(__hadd)
HIPSCOPE_SATURATED(__hsub)
HIPSCOPE_SATURATED(__hmul)
#undef HIPSCOPE_SATURATED
HIPSCOPE_BOTH __half __hneg(__half a) { return hipscope_half_of(static_cast<_Float16>(-hipscope_of(a))); }
HIPSCOPE_BOTH __half2 __hneg2(__half2 a) { return _Float16_2(-a.data); }
HIPSCOPE_BOTH __half __habs(__half a) { return __ushort_as_half(__half_as_ushort(a) & 0x7fffu); }
HIPSCOPE_BOTH __half2 __habs2(__half2 a) { return _Float16_2(__builtin_elementwise_abs(a.data)); }
HIPSCOPE_DEVICE __half __hfma(__half a, __half b, __half c) { return hipscope_half_of(__ocml_fma_f16(hipscope_of(a), hipscope_of(b), hipscope_of(c))); }
HIPSCOPE_DEVICE __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return _Float16_2(__ocml_fma_2f16(a.data, b.data, c.data)); }
HIPSCOPE_DEVICE __half __hfma_sat(__half a, __half b, __half c) { return __clamp_01(__hfma(a, b, c)); }
HIPSCOPE_DEVICE __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) { return hipscope_clamp_01(__hfma2(a, b, c)); }
HIPSCOPE_BOTH _Float16 hipscope_not_below_zero(_Float16 a) { return a < 0 ? static_cast<_Float16>(0) : a; }  // NaN stays
HIPSCOPE_EXTRA __half __hfma_relu(__half a, __half b, __half c) { return hipscope_half_of(hipscope_not_below_zero(hipscope_of(__hfma(a, b, c)))); }
HIPSCOPE_EXTRA __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
  const __half2 sum = __hfma2(a, b, c);
  return _Float16_2{hipscope_not_below_zero(sum.data.x), hipscope_not_below_zero(sum.data.y)};
}
/// Complex a * b + c: the pair's first number is the real part.
HIPSCOPE_EXTRA __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
  const _Float16_2 first{__ocml_fma_f16(a.data.x, b.data.x, c.data.x), __ocml_fma_f16(a.data.x, b.data.y, c.data.y)};
  return _Float16_2{__ocml_fma_f16(-a.data.y, b.data.y, first.x), __ocml_fma_f16(a.data.y, b.data.x, first.y)};
}
HIPSCOPE_DEVICE __half __hmax(__half a, __half b) { return hipscope_half_of(__builtin_fmaxf16(hipscope_of(a), hipscope_of(b))); }
HIPSCOPE_DEVICE __half __hmin(__half a, __half b) { return hipscope_half_of(__builtin_fminf16(hipscope_of(a), hipscope_of(b))); }
HIPSCOPE_DEVICE __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
HIPSCOPE_DEVICE __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
HIPSCOPE_EXTRA __half2 __hmax2(__half2 a, __half2 b) { return _Float16_2(__builtin_elementwise_max(a.data, b.data)); }
HIPSCOPE_EXTRA __half2 __hmin2(__half2 a, __half2 b) { return _Float16_2(__builtin_elementwise_min(a.data, b.data)); }
// Not by __ockl_fdot2: the device library of Debian 12 always saturates there.
HIPSCOPE_DEVICE float amd_mixed_dot(__half2 a, __half2 b, float c, bool saturate) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
  return saturate ? __builtin_amdgcn_fdot2(a.data, b.data, c, true) : __builtin_amdgcn_fdot2(a.data, b.data, c, false);
#else
  return __ockl_fdot2(a.data, b.data, c, saturate);
#endif
}

// Functions
#define HIPSCOPE_FUNCTION(name)                                                                            \
  HIPSCOPE_DEVICE __half h##name(__half a) { return hipscope_half_of(__ocml_##name##_f16(hipscope_of(a))); } \
  HIPSCOPE_DEVICE __half2 h2##name(__half2 a) { return _Float16_2(__ocml_##name##_2f16(a.data)); }
HIPSCOPE_FUNCTION(ceil)
HIPSCOPE_FUNCTION(cos)
HIPSCOPE_FUNCTION(exp)
HIPSCOPE_FUNCTION(exp10)
HIPSCOPE_FUNCTION(exp2)
HIPSCOPE_FUNCTION(floor)
HIPSCOPE_FUNCTION(log)
HIPSCOPE_FUNCTION(log10)
HIPSCOPE_FUNCTION(log2)
HIPSCOPE_FUNCTION(rint)
HIPSCOPE_FUNCTION(rsqrt)
HIPSCOPE_FUNCTION(sin)
HIPSCOPE_FUNCTION(sqrt)
HIPSCOPE_FUNCTION(trunc)
#undef HIPSCOPE_FUNCTION
HIPSCOPE_DEVICE __half hrcp(__half a) { return hipscope_half_of(static_cast<_Float16>(1) / hipscope_of(a)); }
HIPSCOPE_DEVICE __half2 h2rcp(__half2 a) { return _Float16_2(_Float16_2{1, 1} / a.data); }

/// Adds both numbers, each atomically; what was there before.
HIPSCOPE_DEVICE __half2 unsafeAtomicAdd(__half2* address, __half2 value) {
#if defined(__gfx942__) || defined(__gfx950__)
  return __builtin_amdgcn_flat_atomic_fadd_v2f16(reinterpret_cast<_Float16_2*>(address), value.data);
#else
  unsigned* const word = reinterpret_cast<unsigned*>(address);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(word, &seen, __builtin_bit_cast(unsigned, __hadd2(__builtin_bit_cast(__half2, seen), value)),
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
  return __builtin_bit_cast(__half2, seen);
#endif
}

}  // namespace

// Exchange between lanes
#define HIPSCOPE_SHUFFLE(name, type)                                                                                                       \
  HIPSCOPE_DEVICE __half name(__half a, type by, int width = warpSize) {                                                                   \
    return __ushort_as_half(static_cast<unsigned short>(name(static_cast<int>(__half_as_ushort(a)), by, width)));                         \
  }                                                                                                                                        \
  HIPSCOPE_DEVICE __half2 name(__half2 a, type by, int width = warpSize) {                                                                 \
    return __builtin_bit_cast(__half2, name(__builtin_bit_cast(int, a), by, width));                                                       \
  }
HIPSCOPE_SHUFFLE(__shfl, int)
HIPSCOPE_SHUFFLE(__shfl_up, unsigned)
HIPSCOPE_SHUFFLE(__shfl_down, unsigned)
HIPSCOPE_SHUFFLE(__shfl_xor, int)
#undef HIPSCOPE_SHUFFLE
#undef HIPSCOPE_EXTRA
#undef HIPSCOPE_DEVICE
#undef HIPSCOPE_BOTH

#endif
