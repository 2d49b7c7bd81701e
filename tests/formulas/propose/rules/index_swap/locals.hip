// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"height": 512}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const float* from = in + x * height;
  float* to = &out[x * height];
  to[y] = 2.0f * from[y];
}
