// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"width": 500, "height": 510}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height) {
  // Lanes run along y, the direction in which memory is contiguous.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * threadIdx.y;
  const unsigned thread_x = thread_in_block / blockDim.y;
  const unsigned thread_y = thread_in_block % blockDim.y;
  const int x = blockIdx.x * blockDim.x + thread_x;
  const int y = blockIdx.y * blockDim.y + thread_y;
  if (x < width && y < height) out[x * height + y] = 2.0f * in[x * height + y];
}
