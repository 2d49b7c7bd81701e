// facts: {}
#include <hip/hip_runtime.h>
constexpr float kThird = 3.0f;
constexpr int kWidth = 320;
__global__ void k(const float* in, float* out, float dt, float damping, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i] * (1.0f / kThird) + static_cast<float>(i % kWidth) * (1.0f / kWidth) + in[i + 1] / 2.0f;
  const float inverse = 1.0f / (1.0f + dt * damping);
#pragma unroll 2
  for (int step = 0; step < 8; ++step) {
    v = (v - dt) * inverse;
    const float changing = v + 1.0f;
    const float inverse2 = 1.0f / changing;
    for (int k = 0; k < 4; ++k) v *= inverse2;
    v += in[i + step] * inverse + v / in[step];
  }
  out[i] = v;
}
