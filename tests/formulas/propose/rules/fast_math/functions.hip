// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = expf(-x) + 1.0f / sqrtf(x + 1.0f) + sinf(x) / x / 3.0f + n / 2;
}
