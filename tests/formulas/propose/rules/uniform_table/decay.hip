// facts: {"launches": [[[1024, 1, 1], [256, 1, 1], {"n": 1024, "steps": 100}, {}]]}
#include <hip/hip_runtime.h>

__global__ void decay(float* data, float rate, int steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = data[i];
  for (int t = 1; t <= steps; ++t) {
    x *= 0.5f + x / (1.0f - powf(rate, t));
    x += i * expf(rate * t);
  }
  data[i] = x;
}
