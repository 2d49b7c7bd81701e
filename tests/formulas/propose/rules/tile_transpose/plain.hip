// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"width": 500, "height": 510}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[x * height + y] = in[y * width + x];
}
