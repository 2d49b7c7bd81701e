// facts: {"disjoint": ["in", "out", "weights", "sums"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* weights, float* out, float* sums, float scale, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float value = 0.5f, sum = in[i] * scale;
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
      value = value * in[i] + weights[k];
      sum += -(value - 1.0f);
    }
    out[i] = value;
    sums[i] = sum;  // both
  }
}
