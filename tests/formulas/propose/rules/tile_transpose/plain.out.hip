// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"width": 500, "height": 510}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  // Both sides of the transposition run along rows; the elements change places in LDS.
  __shared__ float tile[32][33];
  if (blockDim.x == 32 && blockDim.y == 32 && blockDim.z == 1) {
    if (x < width && y < height) {
      tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    }
    __syncthreads();
    const unsigned thread_in_block = threadIdx.x + 32 * threadIdx.y;
    const unsigned store_thread_x = thread_in_block / 32;
    const unsigned store_thread_y = thread_in_block % 32;
    const int store_x = blockIdx.x * blockDim.x + store_thread_x;
    const int store_y = blockIdx.y * blockDim.y + store_thread_y;
    if (store_x < width && store_y < height) {
      out[store_x * height + store_y] = tile[store_thread_y][store_thread_x];
    }
  } else if (x < width && y < height) {
    out[x * height + y] = in[y * width + x];
  }
}
