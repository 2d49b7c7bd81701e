// The installed header's atomics; counting ones through the compiler's own functions instead of names of older LLVMs.
#pragma once

#include <hip/amd_detail/amd_device_functions.h>

#define atomicInc hipscope_replaced_atomicInc
#define atomicDec hipscope_replaced_atomicDec
#include_next <hip/amd_detail/amd_hip_atomic.h>
#undef atomicInc
#undef atomicDec

/// Count up to `limit`, then from 0 again.
__device__ inline unsigned int atomicInc(unsigned int* address, unsigned int limit) {
  return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
/// Count down to 0, then from `limit` again; from above `limit` too.
__device__ inline unsigned int atomicDec(unsigned int* address, unsigned int limit) {
  return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}

#if HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR <= 2
/// The smaller one of two signed 64-bit integers, and the larger one: the headers of HIP 5.2 lack these.
__device__ inline long long atomicMin(long long* address, long long value) {
  return __hip_atomic_fetch_min(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline long long atomicMax(long long* address, long long value) {
  return __hip_atomic_fetch_max(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#endif
