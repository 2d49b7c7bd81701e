// facts: {}
#include <hip/hip_runtime.h>
#define OFFSET 0.125
constexpr double kScale = 0.1;
__global__ void k(const float* in, float* out, int* near, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i] * 0.5 + 1e-3;
  if (x > 1.) x = 1.0 / (1.0 + x * kScale) + OFFSET;
  near[i] = static_cast<int>(x + 0.5);
  out[i] = pow(x, 2) + fmax(x, 0.0f);
}
