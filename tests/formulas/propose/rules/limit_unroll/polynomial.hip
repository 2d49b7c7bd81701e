// facts: {"needs": {"vgprs": 128, "vgpr_spills": 10, "scratch": 40}}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float kept[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) kept[j] = in[i * 4 + j];
  float sum = 0.0f;
#pragma unroll 16
  for (int s = 0; s < n; ++s) {
    sum += in[s] * kept[0];
  }
  out[i] = sum + kept[1] + kept[2] + kept[3];
}
