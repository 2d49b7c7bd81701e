// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["in", "factor", "out", "twice"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* factor, float* out, float* twice, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i] * factor[0];
  twice[i] = 2.0f * in[i] * factor[0];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    out[(k + 1) * n + i] = in[i] + factor[1];
  }
}
