// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"width": 500, "height": 510, "out.ld": 510, "in.ld": 500}]], "member_pointers": {"out.data": "float", "in.data": "float"}}
#include <hip/hip_runtime.h>
struct Matrix {
  float* data;
  int ld;
  __device__ float& at(int row, int column) const { return data[row * ld + column]; }
};
__global__ void k(const Matrix in, Matrix out, int width, int height) {
  const auto to = out;
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const float* row = in.data + y * in.ld;
  // Both sides of the transposition run along rows; the elements change places in LDS.
  __shared__ float tile[32][33];
  if (blockDim.x == 32 && blockDim.y == 32 && blockDim.z == 1) {
    if (x < width && y < height) {
      tile[threadIdx.y][threadIdx.x] = row[x];
    }
    __syncthreads();
    const unsigned thread_in_block = threadIdx.x + 32 * threadIdx.y;
    const unsigned store_thread_x = thread_in_block / 32;
    const unsigned store_thread_y = thread_in_block % 32;
    const auto store_to = out;
    const int store_x = blockIdx.x * blockDim.x + store_thread_x;
    const int store_y = blockIdx.y * blockDim.y + store_thread_y;
    if (store_x < width && store_y < height) {
      store_to.at(store_x, store_y) = tile[store_thread_y][store_thread_x];
    }
  } else {
    if (x < width && y < height) to.at(x, y) = row[x];
  }
}
