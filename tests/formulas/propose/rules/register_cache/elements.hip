// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["in", "w", "out", "low"]}
#include <hip/hip_runtime.h>
__global__ void mix(float* out, float* low, const float* in, const float* w, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * w[0] + in[i + 1] * w[1];
  low[i] = in[i] * w[1] - in[i + 1] * w[0] + n;
}
