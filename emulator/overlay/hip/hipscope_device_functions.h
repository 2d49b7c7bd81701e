// Device functions that HIP has since 6.2, the *_sync family, and a few of 5.3 to 6.2, for older headers.
// The mask of a *_sync function names the lanes that take part, 64 bits wide; lanes of a wave on this hardware run in
// step, so that the functions without a mask do the same for every mask that holds the calling lanes.
#pragma once

#define HIPSCOPE_CHECK_MASK(Mask) static_assert(sizeof(Mask) == 8, "the mask must have 64 bits")

template <class Mask, class T>
__device__ inline T __shfl_sync(Mask, T value, int lane, int width = warpSize) {
  HIPSCOPE_CHECK_MASK(Mask);
  return __shfl(value, lane, width);
}
template <class Mask, class T>
__device__ inline T __shfl_up_sync(Mask, T value, unsigned delta, int width = warpSize) {
  HIPSCOPE_CHECK_MASK(Mask);
  return __shfl_up(value, delta, width);
}
template <class Mask, class T>
__device__ inline T __shfl_down_sync(Mask, T value, unsigned delta, int width = warpSize) {
  HIPSCOPE_CHECK_MASK(Mask);
  return __shfl_down(value, delta, width);
}
template <class Mask, class T>
__device__ inline T __shfl_xor_sync(Mask, T value, int mask, int width = warpSize) {
  HIPSCOPE_CHECK_MASK(Mask);
  return __shfl_xor(value, mask, width);
}
template <class Mask>
__device__ inline unsigned long long __ballot_sync(Mask mask, int predicate) {
  HIPSCOPE_CHECK_MASK(Mask);
  return __ballot(predicate) & mask;
}
template <class Mask>
__device__ inline int __any_sync(Mask mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
template <class Mask>
__device__ inline int __all_sync(Mask mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
/// Lanes of the mask whose value is that of the calling lane.
template <class Mask, class T>
__device__ inline unsigned long long __match_any_sync(Mask mask, T value) {
  HIPSCOPE_CHECK_MASK(Mask);
  unsigned long long left = __ballot(1) & mask, same = 0;
  while (left != 0) {
    const T first = __shfl(value, __ffsll(left) - 1);
    const unsigned long long equal = __ballot(value == first) & mask;
    if (value == first) same = equal;
    left &= ~equal;
  }
  return same;
}
/// The mask when all its lanes have one value, 0 otherwise.
template <class Mask, class T>
__device__ inline unsigned long long __match_all_sync(Mask mask, T value, int* all) {
  const unsigned long long here = __ballot(1) & mask;
  const bool equal = __match_any_sync(mask, value) == here;
  *all = equal;
  return equal ? here : 0;
}
__device__ inline void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <class Mask>
__device__ inline void __syncwarp(Mask) {
  HIPSCOPE_CHECK_MASK(Mask);
  __syncwarp();
}
__device__ inline unsigned long long __activemask() { return __ballot(1); }

__device__ inline int __fns(unsigned mask, unsigned base, int offset) { return __fns32(mask, base, offset); }

// Maxima and minima of floats are compare-and-swap loops in HIP, safe or not.
__device__ inline float unsafeAtomicMax(float* p, float value) { return atomicMax(p, value); }
__device__ inline double unsafeAtomicMax(double* p, double value) { return atomicMax(p, value); }
__device__ inline float unsafeAtomicMin(float* p, float value) { return atomicMin(p, value); }
__device__ inline double unsafeAtomicMin(double* p, double value) { return atomicMin(p, value); }
__device__ inline float safeAtomicMax(float* p, float value) { return atomicMax(p, value); }
__device__ inline double safeAtomicMax(double* p, double value) { return atomicMax(p, value); }
__device__ inline float safeAtomicMin(float* p, float value) { return atomicMin(p, value); }
__device__ inline double safeAtomicMin(double* p, double value) { return atomicMin(p, value); }

#undef HIPSCOPE_CHECK_MASK
