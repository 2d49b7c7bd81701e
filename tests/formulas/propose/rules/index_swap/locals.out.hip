// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"height": 512}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int height) {
  // Lanes run along y, the direction in which memory is contiguous.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * threadIdx.y;
  const unsigned thread_x = thread_in_block / blockDim.y;
  const unsigned thread_y = thread_in_block % blockDim.y;
  const int x = blockIdx.x * blockDim.x + thread_x;
  const int y = blockIdx.y * blockDim.y + thread_y;
  const float* from = in + x * height;
  float* to = &out[x * height];
  to[y] = 2.0f * from[y];
}
