// facts: {"disjoint": ["in", "out", "weights", "sums"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* weights, float* out, float* sums, float scale, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    typedef float pair __attribute__((ext_vector_type(2)));
    const int other = i + gridDim.x * blockDim.x;
    const bool both = other < n;
    const int second = both ? other : i;
    pair value = 0.5f, sum = (pair{in[i], in[second]}) * scale;
#pragma unroll 4
    for (int k = 0; k < 16; ++k) {
      value = value * (pair{in[i], in[second]}) + weights[k];
      sum += -(value - 1.0f);
    }
    out[i] = value.x;
    sums[i] = sum.x;  // both
    if (both) {
      out[other] = value.y;
      sums[other] = sum.y;
      i = other;
    }
  }
}
