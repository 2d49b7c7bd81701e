// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["lo", "hi", "seen"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* key, const float* in, int* lo, int* hi, unsigned* seen, int limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = limit - i;
  if (key[i] > 0)
    {
      int* const place = &lo[key[i]];
      if (x < __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) atomicMin(place, x);
    }
  else
    {
      const int value = (int)in[i];
      if (value > __hip_atomic_load(hi + i % 64, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) atomicMax(hi + i % 64, value);
    }
  for (int b = 0; b < 4; ++b) {
    const unsigned value2 = 1u << (b + (i & 15));
    if ((value2 & ~__hip_atomic_load(&seen[i >> 5], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) != 0) atomicOr(&seen[i >> 5], value2);
  }
}
