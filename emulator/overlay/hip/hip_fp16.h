// The installed header, then what newer ones have for half precision: minimum and maximum, fused multiply-add with a floor
// of 0, complex multiply-add, exchange between lanes, atomic addition of pairs.
#pragma once

// HIP 5 takes its reciprocals from headers of the compiler; clang 22's no longer hold these two.
#if defined(__HIP__)
typedef _Float16 hipscope_half_pair __attribute__((ext_vector_type(2)));
static __device__ inline _Float16 hipscope_rcp_f16(_Float16 a) { return __builtin_amdgcn_rcph(a); }
static __device__ inline hipscope_half_pair hipscope_rcp_2f16(hipscope_half_pair a) {
  return hipscope_half_pair{__builtin_amdgcn_rcph(a.x), __builtin_amdgcn_rcph(a.y)};
}
#define __llvm_amdgcn_rcp_f16 hipscope_rcp_f16
#define __llvm_amdgcn_rcp_2f16 hipscope_rcp_2f16
#endif

#include_next <hip/hip_fp16.h>

#undef __llvm_amdgcn_rcp_f16
#undef __llvm_amdgcn_rcp_2f16

#if defined(__cplusplus) && defined(__clang__) && defined(__HIP__)
#include <hip/hip_runtime.h>

namespace hipscope_half {
typedef _Float16 Pair __attribute__((ext_vector_type(2)));
__device__ inline _Float16 number(__half a) { return static_cast<__half_raw>(a).data; }
__device__ inline Pair pair(__half2 a) { return __builtin_bit_cast(Pair, a); }
__device__ inline __half2 pair(Pair a) { return __builtin_bit_cast(__half2, a); }
__device__ inline _Float16 not_below_zero(_Float16 a) { return a < 0 ? static_cast<_Float16>(0) : a; }  // NaN stays
}  // namespace hipscope_half

/// Of a number and NaN the number; the functions whose name ends in _nan: NaN.
__device__ inline __half __hmax(__half a, __half b) { return __builtin_fmaxf16(hipscope_half::number(a), hipscope_half::number(b)); }
__device__ inline __half __hmin(__half a, __half b) { return __builtin_fminf16(hipscope_half::number(a), hipscope_half::number(b)); }
__device__ inline __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
__device__ inline __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
__device__ inline __half2 __hmax2(__half2 a, __half2 b) {
  return hipscope_half::pair(__builtin_elementwise_max(hipscope_half::pair(a), hipscope_half::pair(b)));
}
__device__ inline __half2 __hmin2(__half2 a, __half2 b) {
  return hipscope_half::pair(__builtin_elementwise_min(hipscope_half::pair(a), hipscope_half::pair(b)));
}
__device__ inline __half __hfma_relu(__half a, __half b, __half c) {
  return hipscope_half::not_below_zero(hipscope_half::number(__hfma(a, b, c)));
}
__device__ inline __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
  const hipscope_half::Pair sum = hipscope_half::pair(__hfma2(a, b, c));
  return hipscope_half::pair(hipscope_half::Pair{hipscope_half::not_below_zero(sum.x), hipscope_half::not_below_zero(sum.y)});
}
/// Complex a * b + c: the pair's first number is the real part.
__device__ inline __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
  const hipscope_half::Pair x = hipscope_half::pair(a), y = hipscope_half::pair(b), z = hipscope_half::pair(c);
  const hipscope_half::Pair first{__builtin_fmaf16(x.x, y.x, z.x), __builtin_fmaf16(x.x, y.y, z.y)};
  return hipscope_half::pair(hipscope_half::Pair{__builtin_fmaf16(-x.y, y.y, first.x), __builtin_fmaf16(x.y, y.x, first.y)});
}

#define HIPSCOPE_HALF_SHUFFLE(name, type) \
  __device__ inline __half name(__half a, type by, int width = warpSize) { \
    return __builtin_bit_cast(__half, static_cast<unsigned short>(name(static_cast<int>(__builtin_bit_cast(unsigned short, a)), by, width))); \
  } \
  __device__ inline __half2 name(__half2 a, type by, int width = warpSize) { \
    return __builtin_bit_cast(__half2, name(__builtin_bit_cast(int, a), by, width)); \
  }
HIPSCOPE_HALF_SHUFFLE(__shfl, int)
HIPSCOPE_HALF_SHUFFLE(__shfl_up, unsigned)
HIPSCOPE_HALF_SHUFFLE(__shfl_down, unsigned)
HIPSCOPE_HALF_SHUFFLE(__shfl_xor, int)
#undef HIPSCOPE_HALF_SHUFFLE

/// Adds both numbers, each atomically; what was there before.
__device__ inline __half2 unsafeAtomicAdd(__half2* address, __half2 value) {
#if defined(__gfx942__) || defined(__gfx950__)
  return hipscope_half::pair(__builtin_amdgcn_flat_atomic_fadd_v2f16(reinterpret_cast<hipscope_half::Pair*>(address), hipscope_half::pair(value)));
#else
  unsigned* const word = reinterpret_cast<unsigned*>(address);
  unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(word, &seen, __builtin_bit_cast(unsigned, __hadd2(__builtin_bit_cast(__half2, seen), value)),
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
  return __builtin_bit_cast(__half2, seen);
#endif
}
#endif
