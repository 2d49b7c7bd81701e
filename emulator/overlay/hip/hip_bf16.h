// bfloat16 with the names that HIP gives it since version 6: the upper half of a float. For older headers; one that is
// installed comes first. Conversions round to nearest, ties to even; NaN stays NaN. Arithmetic is done in float and
// rounded once.
#pragma once

#if __has_include_next(<hip/hip_bf16.h>)
#include_next <hip/hip_bf16.h>
#else

#include <hip/hip_runtime.h>

#define __HOST_DEVICE__ __host__ __device__ inline
// What CUDA has and HIP 6 has not: a program's own function of that name is another one, and comes first.
#define HIPSCOPE_BF16_EXTRA template <typename = void> __HOST_DEVICE__

struct __hip_bfloat16_raw {
  unsigned short x;
};
struct __hip_bfloat162_raw {
  unsigned short x, y;
};

namespace hipscope_bf16 {
__HOST_DEVICE__ unsigned bits(float f) { return __builtin_bit_cast(unsigned, f); }
__HOST_DEVICE__ unsigned short narrow(float f) {
  const unsigned u = bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>((u >> 16) | 0x40u);  // a quiet NaN
  return static_cast<unsigned short>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
__HOST_DEVICE__ float widen(unsigned short s) { return __builtin_bit_cast(float, static_cast<unsigned>(s) << 16); }
}  // namespace hipscope_bf16

struct __hip_bfloat16 {
  unsigned short data;

  __hip_bfloat16() = default;
  __HOST_DEVICE__ __hip_bfloat16(const __hip_bfloat16_raw& raw) : data(raw.x) {}
  __HOST_DEVICE__ __hip_bfloat16(float f) : data(hipscope_bf16::narrow(f)) {}
  __HOST_DEVICE__ __hip_bfloat16(double d) : data(hipscope_bf16::narrow(static_cast<float>(d))) {}
  __HOST_DEVICE__ __hip_bfloat16(int i) : data(hipscope_bf16::narrow(static_cast<float>(i))) {}
  __HOST_DEVICE__ __hip_bfloat16(unsigned i) : data(hipscope_bf16::narrow(static_cast<float>(i))) {}
  __HOST_DEVICE__ __hip_bfloat16(short i) : data(hipscope_bf16::narrow(static_cast<float>(i))) {}
  __HOST_DEVICE__ __hip_bfloat16(unsigned short i) : data(hipscope_bf16::narrow(static_cast<float>(i))) {}
  __HOST_DEVICE__ operator float() const { return hipscope_bf16::widen(data); }
  __HOST_DEVICE__ operator __hip_bfloat16_raw() const { return {data}; }
  __HOST_DEVICE__ __hip_bfloat16& operator+=(__hip_bfloat16 b) { return *this = __hip_bfloat16(float(*this) + float(b)); }
  __HOST_DEVICE__ __hip_bfloat16& operator-=(__hip_bfloat16 b) { return *this = __hip_bfloat16(float(*this) - float(b)); }
  __HOST_DEVICE__ __hip_bfloat16& operator*=(__hip_bfloat16 b) { return *this = __hip_bfloat16(float(*this) * float(b)); }
  __HOST_DEVICE__ __hip_bfloat16& operator/=(__hip_bfloat16 b) { return *this = __hip_bfloat16(float(*this) / float(b)); }
};

struct __hip_bfloat162 {
  __hip_bfloat16 x, y;

  __hip_bfloat162() = default;
  __HOST_DEVICE__ __hip_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) : x(a), y(b) {}
  __HOST_DEVICE__ __hip_bfloat162(const __hip_bfloat162_raw& raw) : x(__hip_bfloat16_raw{raw.x}), y(__hip_bfloat16_raw{raw.y}) {}
  __HOST_DEVICE__ explicit __hip_bfloat162(float2 f) : x(f.x), y(f.y) {}
  __HOST_DEVICE__ operator __hip_bfloat162_raw() const { return {x.data, y.data}; }
  __HOST_DEVICE__ operator float2() const { return make_float2(float(x), float(y)); }
};
using __nv_bfloat16 = __hip_bfloat16;
using __nv_bfloat162 = __hip_bfloat162;

// Conversions
__HOST_DEVICE__ float __bfloat162float(__hip_bfloat16 a) { return float(a); }
__HOST_DEVICE__ __hip_bfloat16 __float2bfloat16(float f) { return __hip_bfloat16(f); }
HIPSCOPE_BF16_EXTRA __hip_bfloat16 __float2bfloat16_rn(float f) { return __hip_bfloat16(f); }
__HOST_DEVICE__ __hip_bfloat16 __double2bfloat16(double d) { return __hip_bfloat16(d); }
HIPSCOPE_BF16_EXTRA __hip_bfloat16 __int2bfloat16_rn(int i) { return __hip_bfloat16(i); }
HIPSCOPE_BF16_EXTRA __hip_bfloat16 __uint2bfloat16_rn(unsigned i) { return __hip_bfloat16(i); }
HIPSCOPE_BF16_EXTRA int __bfloat162int_rz(__hip_bfloat16 a) { return static_cast<int>(float(a)); }
__HOST_DEVICE__ unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) { return a.data; }
__HOST_DEVICE__ short __bfloat16_as_short(__hip_bfloat16 a) { return static_cast<short>(a.data); }
__HOST_DEVICE__ __hip_bfloat16 __ushort_as_bfloat16(unsigned short s) { return __hip_bfloat16_raw{s}; }
__HOST_DEVICE__ __hip_bfloat16 __short_as_bfloat16(short s) { return __hip_bfloat16_raw{static_cast<unsigned short>(s)}; }
__HOST_DEVICE__ float2 __bfloat1622float2(__hip_bfloat162 a) { return make_float2(float(a.x), float(a.y)); }
__HOST_DEVICE__ __hip_bfloat162 __float22bfloat162_rn(float2 f) { return __hip_bfloat162(f); }
HIPSCOPE_BF16_EXTRA __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__hip_bfloat16(a), __hip_bfloat16(b)}; }
HIPSCOPE_BF16_EXTRA __hip_bfloat162 __float2bfloat162_rn(float a) { return {__hip_bfloat16(a), __hip_bfloat16(a)}; }
__HOST_DEVICE__ __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
__HOST_DEVICE__ __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
HIPSCOPE_BF16_EXTRA __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
__HOST_DEVICE__ __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
__HOST_DEVICE__ __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
__HOST_DEVICE__ float __low2float(__hip_bfloat162 a) { return float(a.x); }
__HOST_DEVICE__ float __high2float(__hip_bfloat162 a) { return float(a.y); }
__HOST_DEVICE__ __hip_bfloat162 __lowhigh2highlow(__hip_bfloat162 a) { return {a.y, a.x}; }
__HOST_DEVICE__ __hip_bfloat162 __low2bfloat162(__hip_bfloat162 a) { return {a.x, a.x}; }
__HOST_DEVICE__ __hip_bfloat162 __high2bfloat162(__hip_bfloat162 a) { return {a.y, a.y}; }
__HOST_DEVICE__ __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x, b.x}; }
__HOST_DEVICE__ __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.y, b.y}; }

// Arithmetic
__HOST_DEVICE__ __hip_bfloat16 __hadd(__hip_bfloat16 a, __hip_bfloat16 b) { return float(a) + float(b); }
__HOST_DEVICE__ __hip_bfloat16 __hsub(__hip_bfloat16 a, __hip_bfloat16 b) { return float(a) - float(b); }
__HOST_DEVICE__ __hip_bfloat16 __hmul(__hip_bfloat16 a, __hip_bfloat16 b) { return float(a) * float(b); }
__HOST_DEVICE__ __hip_bfloat16 __hdiv(__hip_bfloat16 a, __hip_bfloat16 b) { return float(a) / float(b); }
__HOST_DEVICE__ __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf(float(a), float(b), float(c));
}
__HOST_DEVICE__ __hip_bfloat16 __hneg(__hip_bfloat16 a) { return __hip_bfloat16_raw{static_cast<unsigned short>(a.data ^ 0x8000u)}; }
__HOST_DEVICE__ __hip_bfloat16 __habs(__hip_bfloat16 a) { return __hip_bfloat16_raw{static_cast<unsigned short>(a.data & 0x7fffu)}; }
__HOST_DEVICE__ __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) { return __builtin_fmaxf(float(a), float(b)); }
__HOST_DEVICE__ __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) { return __builtin_fminf(float(a), float(b)); }

#define HIPSCOPE_BF16_PAIRS(name, one) \
  __HOST_DEVICE__ __hip_bfloat162 name(__hip_bfloat162 a, __hip_bfloat162 b) { return {one(a.x, b.x), one(a.y, b.y)}; }
HIPSCOPE_BF16_PAIRS(__hadd2, __hadd)
HIPSCOPE_BF16_PAIRS(__hsub2, __hsub)
HIPSCOPE_BF16_PAIRS(__hmul2, __hmul)
HIPSCOPE_BF16_PAIRS(__h2div, __hdiv)
HIPSCOPE_BF16_PAIRS(__hmax2, __hmax)
HIPSCOPE_BF16_PAIRS(__hmin2, __hmin)
HIPSCOPE_BF16_PAIRS(operator+, __hadd)
HIPSCOPE_BF16_PAIRS(operator-, __hsub)
HIPSCOPE_BF16_PAIRS(operator*, __hmul)
HIPSCOPE_BF16_PAIRS(operator/, __hdiv)
#undef HIPSCOPE_BF16_PAIRS
__HOST_DEVICE__ __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
__HOST_DEVICE__ __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return {__hneg(a.x), __hneg(a.y)}; }
__HOST_DEVICE__ __hip_bfloat162 __habs2(__hip_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }

HIPSCOPE_BF16_EXTRA __hip_bfloat16 __hfma_relu(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  const float sum = __builtin_fmaf(float(a), float(b), float(c));
  return sum < 0 ? 0.0f : sum;  // NaN stays
}
HIPSCOPE_BF16_EXTRA __hip_bfloat162 __hfma2_relu(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}
/// Complex a * b + c: the pair's first number is the real part.
HIPSCOPE_BF16_EXTRA __hip_bfloat162 __hcmadd(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(-float(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}
__HOST_DEVICE__ __hip_bfloat162& operator+=(__hip_bfloat162& a, __hip_bfloat162 b) { return a = a + b; }
__HOST_DEVICE__ __hip_bfloat162& operator-=(__hip_bfloat162& a, __hip_bfloat162 b) { return a = a - b; }
__HOST_DEVICE__ __hip_bfloat162& operator*=(__hip_bfloat162& a, __hip_bfloat162 b) { return a = a * b; }
__HOST_DEVICE__ __hip_bfloat162& operator/=(__hip_bfloat162& a, __hip_bfloat162 b) { return a = a / b; }

#define HIPSCOPE_BF16_OPERATOR(op) \
  __HOST_DEVICE__ __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) { return __hip_bfloat16(float(a) op float(b)); }
HIPSCOPE_BF16_OPERATOR(+)
HIPSCOPE_BF16_OPERATOR(-)
HIPSCOPE_BF16_OPERATOR(*)
HIPSCOPE_BF16_OPERATOR(/)
#undef HIPSCOPE_BF16_OPERATOR
#define HIPSCOPE_BF16_SIGNS(type, one, negative)                                                      \
  __HOST_DEVICE__ type operator+(type a) { return a; }                                                \
  __HOST_DEVICE__ type operator-(type a) { return negative(a); }                                      \
  __HOST_DEVICE__ type& operator++(type& a) { return a += one; }                                      \
  __HOST_DEVICE__ type& operator--(type& a) { return a -= one; }                                      \
  __HOST_DEVICE__ type operator++(type& a, int) { const type before = a; a += one; return before; }   \
  __HOST_DEVICE__ type operator--(type& a, int) { const type before = a; a -= one; return before; }
HIPSCOPE_BF16_SIGNS(__hip_bfloat16, __hip_bfloat16(1.0f), __hneg)
HIPSCOPE_BF16_SIGNS(__hip_bfloat162, (__hip_bfloat162{1.0f, 1.0f}), __hneg2)
#undef HIPSCOPE_BF16_SIGNS

// Comparisons; those whose name ends in u are true for NaN.
#define HIPSCOPE_BF16_COMPARE(name, op) \
  __HOST_DEVICE__ bool name(__hip_bfloat16 a, __hip_bfloat16 b) { return float(a) op float(b); } \
  __HOST_DEVICE__ bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) { return float(a) op float(b); }
HIPSCOPE_BF16_COMPARE(__heq, ==)
HIPSCOPE_BF16_COMPARE(__hne, !=)
HIPSCOPE_BF16_COMPARE(__hlt, <)
HIPSCOPE_BF16_COMPARE(__hle, <=)
HIPSCOPE_BF16_COMPARE(__hgt, >)
HIPSCOPE_BF16_COMPARE(__hge, >=)
#undef HIPSCOPE_BF16_COMPARE
__HOST_DEVICE__ bool __hequ(__hip_bfloat16 a, __hip_bfloat16 b) { return !(float(a) < float(b)) && !(float(a) > float(b)); }
__HOST_DEVICE__ bool __hneu(__hip_bfloat16 a, __hip_bfloat16 b) { return !(float(a) == float(b)); }
__HOST_DEVICE__ bool __hltu(__hip_bfloat16 a, __hip_bfloat16 b) { return !(float(a) >= float(b)); }
__HOST_DEVICE__ bool __hleu(__hip_bfloat16 a, __hip_bfloat16 b) { return !(float(a) > float(b)); }
__HOST_DEVICE__ bool __hgtu(__hip_bfloat16 a, __hip_bfloat16 b) { return !(float(a) <= float(b)); }
__HOST_DEVICE__ bool __hgeu(__hip_bfloat16 a, __hip_bfloat16 b) { return !(float(a) < float(b)); }
__HOST_DEVICE__ bool __hisnan(__hip_bfloat16 a) { return (a.data & 0x7fffu) > 0x7f80u; }
__HOST_DEVICE__ int __hisinf(__hip_bfloat16 a) { return (a.data & 0x7fffu) != 0x7f80u ? 0 : (a.data >> 15) != 0 ? -1 : 1; }

HIPSCOPE_BF16_EXTRA __hip_bfloat16 __hmax_nan(__hip_bfloat16 a, __hip_bfloat16 b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
HIPSCOPE_BF16_EXTRA __hip_bfloat16 __hmin_nan(__hip_bfloat16 a, __hip_bfloat16 b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
// Of pairs: 1 or 0 for each number, and one answer for both.
#define HIPSCOPE_BF16_COMPARE_PAIRS(name, both, one) \
  __HOST_DEVICE__ __hip_bfloat162 name(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return {one(a.x, b.x) ? 1.0f : 0.0f, one(a.y, b.y) ? 1.0f : 0.0f}; \
  } \
  __HOST_DEVICE__ bool both(__hip_bfloat162 a, __hip_bfloat162 b) { return one(a.x, b.x) && one(a.y, b.y); }
HIPSCOPE_BF16_COMPARE_PAIRS(__heq2, __hbeq2, __heq)
HIPSCOPE_BF16_COMPARE_PAIRS(__hne2, __hbne2, __hne)
HIPSCOPE_BF16_COMPARE_PAIRS(__hlt2, __hblt2, __hlt)
HIPSCOPE_BF16_COMPARE_PAIRS(__hle2, __hble2, __hle)
HIPSCOPE_BF16_COMPARE_PAIRS(__hgt2, __hbgt2, __hgt)
HIPSCOPE_BF16_COMPARE_PAIRS(__hge2, __hbge2, __hge)
HIPSCOPE_BF16_COMPARE_PAIRS(__hequ2, __hbequ2, __hequ)
HIPSCOPE_BF16_COMPARE_PAIRS(__hneu2, __hbneu2, __hneu)
HIPSCOPE_BF16_COMPARE_PAIRS(__hltu2, __hbltu2, __hltu)
HIPSCOPE_BF16_COMPARE_PAIRS(__hleu2, __hbleu2, __hleu)
HIPSCOPE_BF16_COMPARE_PAIRS(__hgtu2, __hbgtu2, __hgtu)
HIPSCOPE_BF16_COMPARE_PAIRS(__hgeu2, __hbgeu2, __hgeu)
#undef HIPSCOPE_BF16_COMPARE_PAIRS
// True when it holds for both; of != when it holds for one.
__HOST_DEVICE__ bool operator==(__hip_bfloat162 a, __hip_bfloat162 b) { return a.x == b.x && a.y == b.y; }
__HOST_DEVICE__ bool operator!=(__hip_bfloat162 a, __hip_bfloat162 b) { return !(a == b); }
__HOST_DEVICE__ bool operator<(__hip_bfloat162 a, __hip_bfloat162 b) { return a.x < b.x && a.y < b.y; }
__HOST_DEVICE__ bool operator<=(__hip_bfloat162 a, __hip_bfloat162 b) { return a.x <= b.x && a.y <= b.y; }
__HOST_DEVICE__ bool operator>(__hip_bfloat162 a, __hip_bfloat162 b) { return a.x > b.x && a.y > b.y; }
__HOST_DEVICE__ bool operator>=(__hip_bfloat162 a, __hip_bfloat162 b) { return a.x >= b.x && a.y >= b.y; }
__HOST_DEVICE__ __hip_bfloat162 __hisnan2(__hip_bfloat162 a) { return {__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f}; }

#if defined(__clang__) && defined(__HIP__)  // what compilers of host code have no use for

// Functions, rounded once from the float function of the device library.
#define HIPSCOPE_BF16_FUNCTION(name, of) \
  __device__ inline __hip_bfloat16 h##name(__hip_bfloat16 a) { return __hip_bfloat16(of(float(a))); } \
  __device__ inline __hip_bfloat162 h2##name(__hip_bfloat162 a) { return {h##name(a.x), h##name(a.y)}; }
HIPSCOPE_BF16_FUNCTION(sqrt, sqrtf)
HIPSCOPE_BF16_FUNCTION(rsqrt, rsqrtf)
HIPSCOPE_BF16_FUNCTION(exp, expf)
HIPSCOPE_BF16_FUNCTION(exp2, exp2f)
HIPSCOPE_BF16_FUNCTION(log, logf)
HIPSCOPE_BF16_FUNCTION(log2, log2f)
HIPSCOPE_BF16_FUNCTION(sin, sinf)
HIPSCOPE_BF16_FUNCTION(cos, cosf)
HIPSCOPE_BF16_FUNCTION(floor, floorf)
HIPSCOPE_BF16_FUNCTION(ceil, ceilf)
HIPSCOPE_BF16_FUNCTION(trunc, truncf)
HIPSCOPE_BF16_FUNCTION(rint, rintf)
HIPSCOPE_BF16_FUNCTION(exp10, exp10f)
HIPSCOPE_BF16_FUNCTION(log10, log10f)
HIPSCOPE_BF16_FUNCTION(tanh, tanhf)
HIPSCOPE_BF16_FUNCTION(rcp, __frcp_rn)
#undef HIPSCOPE_BF16_FUNCTION

// Exchange between lanes
#define HIPSCOPE_BF16_SHUFFLE(name, type) \
  __device__ inline __hip_bfloat16 name(__hip_bfloat16 a, type by, int width = warpSize) { \
    return __ushort_as_bfloat16(static_cast<unsigned short>(name(static_cast<int>(a.data), by, width))); \
  } \
  __device__ inline __hip_bfloat162 name(__hip_bfloat162 a, type by, int width = warpSize) { \
    return __builtin_bit_cast(__hip_bfloat162, name(__builtin_bit_cast(int, a), by, width)); \
  }
HIPSCOPE_BF16_SHUFFLE(__shfl, int)
HIPSCOPE_BF16_SHUFFLE(__shfl_up, unsigned)
HIPSCOPE_BF16_SHUFFLE(__shfl_down, unsigned)
HIPSCOPE_BF16_SHUFFLE(__shfl_xor, int)
#undef HIPSCOPE_BF16_SHUFFLE

/// Adds both numbers, each atomically; what was there before.
__device__ inline __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162* address, __hip_bfloat162 value) {
#if defined(__gfx942__) || defined(__gfx950__)
  typedef short Pair __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(__hip_bfloat162, __builtin_amdgcn_flat_atomic_fadd_v2bf16(reinterpret_cast<Pair*>(address), __builtin_bit_cast(Pair, value)));
#else
  unsigned* const word = reinterpret_cast<unsigned*>(address);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(word, &seen, __builtin_bit_cast(unsigned, __builtin_bit_cast(__hip_bfloat162, seen) + value),
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
  return __builtin_bit_cast(__hip_bfloat162, seen);
#endif
}

#endif
#undef HIPSCOPE_BF16_EXTRA
#undef __HOST_DEVICE__

#endif
