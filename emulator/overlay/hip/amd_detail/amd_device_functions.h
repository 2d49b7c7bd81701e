// The installed header's functions, without those that it has wrong: averages of integers overflow or drop the result,
// `__shfl` leaves the group of `width` lanes when the wanted lane is not inside of it, and the real-time clock is hidden
// from the compilation for the host.
#pragma once

#define __hadd hipscope_replaced_hadd
#define __rhadd hipscope_replaced_rhadd
#define __uhadd hipscope_replaced_uhadd
#define __urhadd hipscope_replaced_urhadd
#define __shfl hipscope_replaced_shfl
#include_next <hip/amd_detail/amd_device_functions.h>
#undef __hadd
#undef __rhadd
#undef __uhadd
#undef __urhadd
#undef __shfl

#ifndef __HIP_DEVICE_COMPILE__
__device__ long long int wall_clock64();
#endif

/// Averages, rounded down and up, as if computed with one more bit.
__device__ static inline int __hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
__device__ static inline int __rhadd(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
__device__ static inline unsigned int __uhadd(unsigned int a, unsigned int b) { return (a & b) + ((a ^ b) >> 1); }
__device__ static inline unsigned int __urhadd(unsigned int a, unsigned int b) { return (a | b) - ((a ^ b) >> 1); }

/// The value of lane `lane` modulo `width` of the group of `width` lanes that the caller is in.
template <class T>
__device__ inline T hipscope_shfl(T value, int lane, int width) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values of 4 or 8 bytes");
  const int from = ((static_cast<int>(__lane_id()) & ~(width - 1)) + (lane & (width - 1))) * 4;
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = __builtin_amdgcn_ds_bpermute(from, word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
#define HIPSCOPE_SHFL(T) \
  __device__ inline T __shfl(T value, int lane, int width = warpSize) { return hipscope_shfl(value, lane, width); }
HIPSCOPE_SHFL(int)
HIPSCOPE_SHFL(unsigned int)
HIPSCOPE_SHFL(long)
HIPSCOPE_SHFL(unsigned long)
HIPSCOPE_SHFL(long long)
HIPSCOPE_SHFL(unsigned long long)
HIPSCOPE_SHFL(float)
HIPSCOPE_SHFL(double)
#undef HIPSCOPE_SHFL
