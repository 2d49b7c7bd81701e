// facts: {"launches": [[[1024, 1, 1], [256, 1, 1], {"n": 1024, "steps": 100}, {}]]}
#include <hip/hip_runtime.h>

__global__ void decay(float* data, float rate, int steps, int n) {
  // The same for all threads: computed once for the first 128 steps of t.
  __shared__ float value_of_t[128];
  __shared__ float expf_of_t[128];
  for (int t = 1 + threadIdx.x; t < 129 && t <= steps; t += blockDim.x) {
    value_of_t[t - 1] = 1.0f - powf(rate, t);
    expf_of_t[t - 1] = expf(rate * t);
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = data[i];
  for (int t = 1; t <= steps; ++t) {
    x *= 0.5f + x / (t < 129 ? value_of_t[t - 1] : 1.0f - powf(rate, t));
    x += i * (t < 129 ? expf_of_t[t - 1] : expf(rate * t));
  }
  data[i] = x;
}
