// facts: {"launches": [[[1024, 1, 1], [256, 1, 1], {"width": 1024, "radius": 3}, {}]]}
#include <hip/hip_runtime.h>

__global__ void window(const float* in, float* out, const int* found, int width, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  int count = 0;
  // The whole window, where it fits.
#pragma unroll 2
  for (int i = -radius; i <= radius; ++i) {
    for (int j = 0; j < 2; ++j) {
      if (x >= radius && (x + radius < width) && found[x + i] > j) {
        sum += in[x + i];
        ++count;
      }
    }
  }
  for (int i = 0; i < count; i++)
    if (count > 1) sum *= 0.5f;
  out[x] = sum;
}
