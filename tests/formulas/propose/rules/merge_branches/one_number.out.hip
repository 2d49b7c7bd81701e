// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float power = 1.0f;
  const float chosen = threadIdx.x % 2 == 0 ? 1.5f : -0.5f;
  for (int step = 0; step < n; ++step) power *= chosen;
  out[i] = power;
}
