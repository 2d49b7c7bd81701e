// facts: {"launches": [[[256, 256, 1], [16, 16, 1]]], "disjoint": ["in", "out"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* __restrict__ in, float* __restrict__ out, int cols) {
  __shared__ float tile[18 * 18];
  const int row = threadIdx.y + 1;
  const int col = threadIdx.x + 1;
  const int pos = (blockIdx.y * 16 + row) * cols + blockIdx.x * 16 + col;
  float in_value{};
  float in_value_2{};
  float in_value_3{};
  float in_value_4{};
  float in_value_5{};
  if (row == 1) in_value = in[pos - cols];
  if (row == 1 && (col == 1 || col == 16)) in_value_2 = in[pos - cols + (col == 1 ? -1 : 1)];
  if (row != 1 && row == 16) in_value_3 = in[pos + cols];
  if (row != 1 && row == 16 && col == 1) in_value_4 = in[pos + cols - 1];
  if (row != 1 && row == 16 && col != 1 && col == 16) in_value_5 = in[pos + cols + 1];
  tile[row * 18 + col] = in[pos];
  if (row == 1) {
    tile[col] = in_value;
    if (col == 1 || col == 16)
      tile[col == 1 ? 0 : 17] = in_value_2;
  } else if (row == 16) {
    tile[17 * 18 + col] = in_value_3;
    if (col == 1) tile[17 * 18] = in_value_4;
    else if (col == 16) tile[17 * 18 + 17] = in_value_5;
  }
  __syncthreads();
  out[pos] = tile[(row - 1) * 18 + col] + tile[row * 18 + col + 1];
}
