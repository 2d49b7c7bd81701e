// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["in", "factor", "out", "twice"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* factor, float* out, float* twice, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float in_i = in[i];
  const float factor_value = factor[0];
  out[i] = in_i * factor_value;
  twice[i] = 2.0f * in_i * factor_value;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    out[(k + 1) * n + i] = in_i + factor[1];
  }
}
