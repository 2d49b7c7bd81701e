// facts: {"launches": [[[256, 256, 1], [16, 16, 1]]], "disjoint": ["in", "out"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* __restrict__ in, float* __restrict__ out, int cols) {
  __shared__ float tile[18 * 18];
  const int row = threadIdx.y + 1;
  const int col = threadIdx.x + 1;
  const int pos = (blockIdx.y * 16 + row) * cols + blockIdx.x * 16 + col;
  tile[row * 18 + col] = in[pos];
  if (row == 1) {
    tile[col] = in[pos - cols];
    if (col == 1 || col == 16)
      tile[col == 1 ? 0 : 17] = in[pos - cols + (col == 1 ? -1 : 1)];
  } else if (row == 16) {
    tile[17 * 18 + col] = in[pos + cols];
    if (col == 1) tile[17 * 18] = in[pos + cols - 1];
    else if (col == 16) tile[17 * 18 + 17] = in[pos + cols + 1];
  }
  __syncthreads();
  out[pos] = tile[(row - 1) * 18 + col] + tile[row * 18 + col + 1];
}
