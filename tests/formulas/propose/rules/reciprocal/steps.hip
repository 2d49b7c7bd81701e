// facts: {}
#include <hip/hip_runtime.h>
constexpr float kThird = 3.0f;
constexpr int kWidth = 320;
__global__ void k(const float* in, float* out, float dt, float damping, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i] / kThird + static_cast<float>(i % kWidth) / kWidth + in[i + 1] / 2.0f;
#pragma unroll 2
  for (int step = 0; step < 8; ++step) {
    v = (v - dt) / (1.0f + dt * damping);
    const float changing = v + 1.0f;
    for (int k = 0; k < 4; ++k) v /= changing;
    v += in[i + step] / (1.0f + dt * damping) + v / in[step];
  }
  out[i] = v;
}
