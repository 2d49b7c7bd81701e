// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"width": 64, "height": 64}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = i % width;
  int y = i / width;
  int right = y * width + (x + 1) % width;
  int left = y * width + (width + x - 1) % width;
  int below = ((y + 1) % height) * width + x;
  int above = ((height + y - 1) % height) * width + x;
  out[i] = in[right] + in[left] + in[below] + in[above];
}
