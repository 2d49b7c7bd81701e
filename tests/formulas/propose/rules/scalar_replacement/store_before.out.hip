// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "disjoint": ["in", "out"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n, int m) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  float total = 0.0f;
  for (int i = 0; i < m; ++i) {
    float out_value = 1.0f;
#pragma unroll 2
    for (int k = 0; k < m; ++k)
      if (k != i) out_value = out_value * in[k] / in[i];
    out[i * n + j] = out_value;
    total += out[i * n + j];
  }
  out[m * n + j] = total;
}
