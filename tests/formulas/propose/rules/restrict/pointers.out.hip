// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["a", "b", "out"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* __restrict__ a, const float * __restrict__ b, float* __restrict__ out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[0];
}
