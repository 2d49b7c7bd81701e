// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["lo", "hi", "seen"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* key, const float* in, int* lo, int* hi, unsigned* seen, int limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = limit - i;
  if (key[i] > 0)
    atomicMin(&lo[key[i]], x);
  else
    atomicMax(hi + i % 64, (int)in[i]);
  for (int b = 0; b < 4; ++b) atomicOr(&seen[i >> 5], 1u << (b + (i & 15)));
}
