// 8-bit floats with the names that HIP gives them since 6.2, for older headers; one that is installed comes first.
// fnuz: as gfx942 computes with them (no infinities, no negative zero, one NaN, bias one higher); the others: OCP.
// Conversions to them round once, to nearest, ties to even. What is too large becomes the largest finite number
// (__HIP_SATFINITE), or NaN or infinity (__HIP_NOSAT). NaN stays NaN; infinity becomes NaN in fnuz formats.
// On the device fnuz conversions from and to float are gfx942's instructions.
#pragma once

#if __has_include_next(<hip/hip_fp8.h>)
#include_next <hip/hip_fp8.h>
#else

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;
typedef enum __hip_fp8_interpretation_t { __HIP_E4M3, __HIP_E5M2, __HIP_E4M3_FNUZ, __HIP_E5M2_FNUZ } __hip_fp8_interpretation_t;
typedef enum __hip_saturation_t { __HIP_NOSAT, __HIP_SATFINITE } __hip_saturation_t;

#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
#define HIPSCOPE_BOTH __host__ __device__ inline

namespace hipscope_fp8 {

struct Format {
  int mantissa, bias;
  bool fnuz;
  unsigned largest, infinity, nan;  // codes without sign; `infinity` is what overflows become
};
HIPSCOPE_BOTH constexpr Format format(__hip_fp8_interpretation_t kind) {
  switch (kind) {
    case __HIP_E4M3: return {3, 7, false, 0x7e, 0x7f, 0x7f};
    case __HIP_E5M2: return {2, 15, false, 0x7b, 0x7c, 0x7f};
    case __HIP_E4M3_FNUZ: return {3, 8, true, 0x7f, 0x80, 0x80};
    default: return {2, 16, true, 0x7f, 0x80, 0x80};
  }
}

HIPSCOPE_BOTH unsigned char encode(double value, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  const Format f = format(kind);
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
  const unsigned sign = f.fnuz ? 0 : static_cast<unsigned>(bits >> 63) << 7;
  const unsigned long long fraction = bits & 0xfffffffffffffull;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent == 1024) {
    if (fraction != 0 || f.fnuz) return static_cast<unsigned char>(f.nan | sign);
    return static_cast<unsigned char>((saturate == __HIP_SATFINITE ? f.largest : f.infinity) | sign);
  }
  const int smallest = 1 - f.bias;  // exponent of the smallest normal number
  const int unit = (exponent < smallest ? smallest : exponent) - f.mantissa;  // exponent of the last bit that is kept
  const int drop = unit - (exponent - 52);
  unsigned kept = 0;
  if (exponent > -1023 && drop <= 53) {
    const unsigned long long significand = fraction | 1ull << 52;
    kept = static_cast<unsigned>(significand >> drop);
    const unsigned long long rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0);
  }
  unsigned code = exponent < smallest ? kept : (static_cast<unsigned>(exponent - smallest) << f.mantissa) + kept;
  if (code > f.largest) code = saturate == __HIP_SATFINITE ? f.largest : f.infinity;
  if (f.fnuz && code != 0 && code != f.nan) code |= static_cast<unsigned>(bits >> 63) << 7;
  return static_cast<unsigned char>(code | sign);
}

HIPSCOPE_BOTH float decode(unsigned char code, __hip_fp8_interpretation_t kind) {
  const Format f = format(kind);
  const unsigned size = code & 0x7f, sign = static_cast<unsigned>(code >> 7) << 31;
  if (f.fnuz ? code == f.nan : size > f.infinity || (size == f.infinity && f.infinity == f.nan)) return __builtin_bit_cast(float, 0x7fc00000u);
  if (!f.fnuz && size == f.infinity) return __builtin_bit_cast(float, 0x7f800000u | sign);
  const unsigned exponent = size >> f.mantissa, fraction = size & ((1u << f.mantissa) - 1);
  if (exponent == 0) {
    const float unit = __builtin_bit_cast(float, static_cast<unsigned>(127 + 1 - f.bias - f.mantissa) << 23);
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, static_cast<float>(fraction) * unit) | sign);
  }
  return __builtin_bit_cast(float, sign | (exponent - f.bias + 127) << 23 | fraction << (23 - f.mantissa));
}

/// Two floats, the first in the low byte.
HIPSCOPE_BOTH unsigned short encode_pair(float a, float b, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
#if defined(__gfx942__)
  if (kind == __HIP_E4M3_FNUZ || kind == __HIP_E5M2_FNUZ) {
    if (saturate == __HIP_SATFINITE) {  // infinities and NaN pass
      const float largest = kind == __HIP_E4M3_FNUZ ? 240.0f : 57344.0f;
      if (__builtin_fabsf(a) < __builtin_inff()) a = __builtin_amdgcn_fmed3f(a, largest, -largest);
      if (__builtin_fabsf(b) < __builtin_inff()) b = __builtin_amdgcn_fmed3f(b, largest, -largest);
    }
    return static_cast<unsigned short>(kind == __HIP_E4M3_FNUZ ? __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false)
                                                               : __builtin_amdgcn_cvt_pk_bf8_f32(a, b, 0, false));
  }
#endif
  return static_cast<unsigned short>(encode(a, saturate, kind) | encode(b, saturate, kind) << 8);
}
HIPSCOPE_BOTH float to_float(unsigned char code, __hip_fp8_interpretation_t kind) {
#if defined(__gfx942__)
  if (kind == __HIP_E4M3_FNUZ) return __builtin_amdgcn_cvt_f32_fp8(code, 0);
  if (kind == __HIP_E5M2_FNUZ) return __builtin_amdgcn_cvt_f32_bf8(code, 0);
#endif
  return decode(code, kind);
}

}  // namespace hipscope_fp8

namespace hipscope_fp8 {

#if defined(__clang__) && defined(__HIP__)
HIPSCOPE_BOTH float widen(__half_raw h) { return static_cast<float>(h.data); }
HIPSCOPE_BOTH float widen_low(__half2_raw h) { return static_cast<float>(h.data.x); }
HIPSCOPE_BOTH float widen_high(__half2_raw h) { return static_cast<float>(h.data.y); }
HIPSCOPE_BOTH __half_raw narrow(float f) { return __half_raw{static_cast<_Float16>(f)}; }
HIPSCOPE_BOTH __half2_raw narrow(float low, float high) {
  __half2_raw both;
  both.data.x = static_cast<_Float16>(low);
  both.data.y = static_cast<_Float16>(high);
  return both;
}
#else  // for compilers of host code the older header has bits in place of numbers
inline float widen(__half_raw h) { return __half2float(h); }
inline float widen_low(__half2_raw h) { return widen(__half_raw{h.x}); }
inline float widen_high(__half2_raw h) { return widen(__half_raw{h.y}); }
inline __half_raw narrow(float f) { return __float2half(f); }
inline __half2_raw narrow(float low, float high) { return {narrow(low).x, narrow(high).x}; }
#endif

template <typename T>
HIPSCOPE_BOTH T to_integer(float f) {
  if (f != f) return 0;
  constexpr bool negative = T(-1) < T(0);
  constexpr int bits = sizeof(T) < 4 ? 8 * static_cast<int>(sizeof(T)) - negative : 17;  // no number here is as large as 2^17
  constexpr float most = static_cast<float>((1 << bits) - 1), least = negative ? -most - 1 : 0;
  return static_cast<T>(f > most ? most : f < least ? least : f);
}

}  // namespace hipscope_fp8

HIPSCOPE_BOTH __hip_fp8_storage_t __hip_cvt_float_to_fp8(float f, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return static_cast<__hip_fp8_storage_t>(hipscope_fp8::encode_pair(f, 0, saturate, kind));
}
HIPSCOPE_BOTH __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 f, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return hipscope_fp8::encode_pair(f.x, f.y, saturate, kind);
}
HIPSCOPE_BOTH __hip_fp8_storage_t __hip_cvt_double_to_fp8(double d, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return hipscope_fp8::encode(d, saturate, kind);
}
HIPSCOPE_BOTH __hip_fp8x2_storage_t __hip_cvt_double2_to_fp8x2(double2 d, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return static_cast<__hip_fp8x2_storage_t>(hipscope_fp8::encode(d.x, saturate, kind) | hipscope_fp8::encode(d.y, saturate, kind) << 8);
}
HIPSCOPE_BOTH __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw h, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return __hip_cvt_float_to_fp8(hipscope_fp8::widen(h), saturate, kind);
}
HIPSCOPE_BOTH __hip_fp8x2_storage_t __hip_cvt_halfraw2_to_fp8x2(__half2_raw h, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return hipscope_fp8::encode_pair(hipscope_fp8::widen_low(h), hipscope_fp8::widen_high(h), saturate, kind);
}
HIPSCOPE_BOTH __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw h, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return __hip_cvt_float_to_fp8(hipscope_bf16::widen(h.x), saturate, kind);
}
HIPSCOPE_BOTH __hip_fp8x2_storage_t __hip_cvt_bfloat16raw2_to_fp8x2(__hip_bfloat162_raw h, __hip_saturation_t saturate, __hip_fp8_interpretation_t kind) {
  return hipscope_fp8::encode_pair(hipscope_bf16::widen(h.x), hipscope_bf16::widen(h.y), saturate, kind);
}
HIPSCOPE_BOTH __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t code, __hip_fp8_interpretation_t kind) {
  return hipscope_fp8::narrow(hipscope_fp8::to_float(code, kind));
}
HIPSCOPE_BOTH __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t codes, __hip_fp8_interpretation_t kind) {
  return hipscope_fp8::narrow(hipscope_fp8::to_float(static_cast<unsigned char>(codes), kind),
                              hipscope_fp8::to_float(static_cast<unsigned char>(codes >> 8), kind));
}

// One number. Constructors saturate and conversions are implicit, as HIP's: to integers NaN is 0, and what is out of range the
// nearest number.
#define HIPSCOPE_FP8(name, kind)                                                                                         \
  struct name {                                                                                                          \
    __hip_fp8_storage_t __x;                                                                                             \
    static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                          \
    static constexpr __hip_fp8_interpretation_t __default_interpret = kind;                                              \
    name() = default;                                                                                                    \
    HIPSCOPE_BOTH name(float f) : __x(__hip_cvt_float_to_fp8(f, __HIP_SATFINITE, kind)) {}                               \
    HIPSCOPE_BOTH name(double d) : __x(__hip_cvt_double_to_fp8(d, __HIP_SATFINITE, kind)) {}                             \
    HIPSCOPE_BOTH name(int i) : name(static_cast<double>(i)) {}                                                          \
    HIPSCOPE_BOTH name(unsigned i) : name(static_cast<double>(i)) {}                                                     \
    HIPSCOPE_BOTH name(short i) : name(static_cast<float>(i)) {}                                                         \
    HIPSCOPE_BOTH name(unsigned short i) : name(static_cast<float>(i)) {}                                                \
    HIPSCOPE_BOTH name(long i) : name(static_cast<double>(i)) {}                                                         \
    HIPSCOPE_BOTH name(unsigned long i) : name(static_cast<double>(i)) {}                                                \
    HIPSCOPE_BOTH name(__half h) : __x(__hip_cvt_halfraw_to_fp8(h, __HIP_SATFINITE, kind)) {}                            \
    HIPSCOPE_BOTH name(__hip_bfloat16 b) : name(static_cast<float>(b)) {}                                                \
    HIPSCOPE_BOTH operator float() const { return hipscope_fp8::to_float(__x, kind); }                                   \
    HIPSCOPE_BOTH operator double() const { return float(*this); }                                                       \
    HIPSCOPE_BOTH operator __half() const { return __half(__hip_cvt_fp8_to_halfraw(__x, kind)); }                        \
    HIPSCOPE_BOTH operator __hip_bfloat16() const { return __hip_bfloat16(float(*this)); }                               \
    HIPSCOPE_BOTH operator bool() const { return float(*this) != 0; }                                                    \
    HIPSCOPE_BOTH operator char() const { return hipscope_fp8::to_integer<char>(float(*this)); }                         \
    HIPSCOPE_BOTH operator signed char() const { return hipscope_fp8::to_integer<signed char>(float(*this)); }           \
    HIPSCOPE_BOTH operator unsigned char() const { return hipscope_fp8::to_integer<unsigned char>(float(*this)); }       \
    HIPSCOPE_BOTH operator short() const { return hipscope_fp8::to_integer<short>(float(*this)); }                       \
    HIPSCOPE_BOTH operator unsigned short() const { return hipscope_fp8::to_integer<unsigned short>(float(*this)); }     \
    HIPSCOPE_BOTH operator int() const { return hipscope_fp8::to_integer<int>(float(*this)); }                           \
    HIPSCOPE_BOTH operator unsigned() const { return hipscope_fp8::to_integer<unsigned>(float(*this)); }                 \
    HIPSCOPE_BOTH operator long() const { return hipscope_fp8::to_integer<long>(float(*this)); }                         \
    HIPSCOPE_BOTH operator unsigned long() const { return hipscope_fp8::to_integer<unsigned long>(float(*this)); }       \
    HIPSCOPE_BOTH operator long long() const { return hipscope_fp8::to_integer<long long>(float(*this)); }               \
    HIPSCOPE_BOTH operator unsigned long long() const { return hipscope_fp8::to_integer<unsigned long long>(float(*this)); }\
  };
// Two numbers, the first in the low byte.
#define HIPSCOPE_FP8_PAIR(name, kind)                                                                                    \
  struct name {                                                                                                          \
    __hip_fp8x2_storage_t __x;                                                                                           \
    static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                          \
    static constexpr __hip_fp8_interpretation_t __default_interpret = kind;                                              \
    name() = default;                                                                                                    \
    HIPSCOPE_BOTH name(float2 f) : __x(__hip_cvt_float2_to_fp8x2(f, __HIP_SATFINITE, kind)) {}                           \
    HIPSCOPE_BOTH name(double2 d) : __x(__hip_cvt_double2_to_fp8x2(d, __HIP_SATFINITE, kind)) {}                         \
    HIPSCOPE_BOTH name(__half2 h) : __x(__hip_cvt_halfraw2_to_fp8x2(h, __HIP_SATFINITE, kind)) {}                        \
    HIPSCOPE_BOTH name(__hip_bfloat162 b) : name(static_cast<float2>(b)) {}                                              \
    HIPSCOPE_BOTH operator float2() const {                                                                              \
      return make_float2(hipscope_fp8::to_float(static_cast<unsigned char>(__x), kind),                                  \
                         hipscope_fp8::to_float(static_cast<unsigned char>(__x >> 8), kind));                            \
    }                                                                                                                    \
    HIPSCOPE_BOTH operator __half2() const { return __half2(__hip_cvt_fp8x2_to_halfraw2(__x, kind)); }                   \
  };
// Four numbers, the first in the lowest byte.
#define HIPSCOPE_FP8_FOUR(name, kind)                                                                                    \
  struct name {                                                                                                          \
    __hip_fp8x4_storage_t __x;                                                                                           \
    static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                          \
    static constexpr __hip_fp8_interpretation_t __default_interpret = kind;                                              \
    name() = default;                                                                                                    \
    HIPSCOPE_BOTH name(float4 f)                                                                                         \
        : __x(hipscope_fp8::encode_pair(f.x, f.y, __HIP_SATFINITE, kind) |                                               \
              static_cast<unsigned>(hipscope_fp8::encode_pair(f.z, f.w, __HIP_SATFINITE, kind)) << 16) {}                \
    HIPSCOPE_BOTH name(double4 d)                                                                                        \
        : __x(__hip_cvt_double2_to_fp8x2(make_double2(d.x, d.y), __HIP_SATFINITE, kind) |                                \
              static_cast<unsigned>(__hip_cvt_double2_to_fp8x2(make_double2(d.z, d.w), __HIP_SATFINITE, kind)) << 16) {} \
    HIPSCOPE_BOTH name(__half2 low, __half2 high)                                                                        \
        : __x(__hip_cvt_halfraw2_to_fp8x2(low, __HIP_SATFINITE, kind) |                                                  \
              static_cast<unsigned>(__hip_cvt_halfraw2_to_fp8x2(high, __HIP_SATFINITE, kind)) << 16) {}                  \
    HIPSCOPE_BOTH name(__hip_bfloat162 low, __hip_bfloat162 high)                                                        \
        : __x(__hip_cvt_bfloat16raw2_to_fp8x2(low, __HIP_SATFINITE, kind) |                                              \
              static_cast<unsigned>(__hip_cvt_bfloat16raw2_to_fp8x2(high, __HIP_SATFINITE, kind)) << 16) {}              \
    HIPSCOPE_BOTH operator float4() const {                                                                              \
      return make_float4(hipscope_fp8::to_float(static_cast<unsigned char>(__x), kind),                                  \
                         hipscope_fp8::to_float(static_cast<unsigned char>(__x >> 8), kind),                             \
                         hipscope_fp8::to_float(static_cast<unsigned char>(__x >> 16), kind),                            \
                         hipscope_fp8::to_float(static_cast<unsigned char>(__x >> 24), kind));                           \
    }                                                                                                                    \
  };
HIPSCOPE_FP8(__hip_fp8_e4m3, __HIP_E4M3)
HIPSCOPE_FP8(__hip_fp8_e5m2, __HIP_E5M2)
HIPSCOPE_FP8(__hip_fp8_e4m3_fnuz, __HIP_E4M3_FNUZ)
HIPSCOPE_FP8(__hip_fp8_e5m2_fnuz, __HIP_E5M2_FNUZ)
HIPSCOPE_FP8_PAIR(__hip_fp8x2_e4m3, __HIP_E4M3)
HIPSCOPE_FP8_PAIR(__hip_fp8x2_e5m2, __HIP_E5M2)
HIPSCOPE_FP8_PAIR(__hip_fp8x2_e4m3_fnuz, __HIP_E4M3_FNUZ)
HIPSCOPE_FP8_PAIR(__hip_fp8x2_e5m2_fnuz, __HIP_E5M2_FNUZ)
HIPSCOPE_FP8_FOUR(__hip_fp8x4_e4m3, __HIP_E4M3)
HIPSCOPE_FP8_FOUR(__hip_fp8x4_e5m2, __HIP_E5M2)
HIPSCOPE_FP8_FOUR(__hip_fp8x4_e4m3_fnuz, __HIP_E4M3_FNUZ)
HIPSCOPE_FP8_FOUR(__hip_fp8x4_e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef HIPSCOPE_FP8
#undef HIPSCOPE_FP8_PAIR
#undef HIPSCOPE_FP8_FOUR
#undef HIPSCOPE_BOTH

#endif
