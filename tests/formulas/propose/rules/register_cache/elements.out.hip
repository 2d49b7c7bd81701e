// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["in", "w", "out", "low"]}
#include <hip/hip_runtime.h>
__global__ void mix(float* out, float* low, const float* in, const float* w, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float in_i = in[i];
  const float w_value = w[0];
  const float in_value = in[i + 1];
  const float w_value2 = w[1];
  out[i] = in_i * w_value + in_value * w_value2;
  low[i] = in_i * w_value2 - in_value * w_value + n;
}
