// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float power = 1.0f;
  if (threadIdx.x % 2 == 0)
    for (int step = 0; step < n; ++step) power *= 1.5f;
  else
    for (int step = 0; step < n; ++step) power *= -0.5f;
  out[i] = power;
}
