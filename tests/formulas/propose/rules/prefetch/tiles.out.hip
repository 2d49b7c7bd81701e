// facts: {"launches": [[[64, 64, 1], [16, 16, 1], {}, {}]], "disjoint": ["a", "b"]}
#include <hip/hip_runtime.h>
#define TILE 16
__global__ void k(const float* a, const float* b, const int* places, float* __restrict__ out, int n, int width) {
  __shared__ float left[TILE][TILE];
  __shared__ float right[TILE][TILE];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const float* row = a + (blockIdx.y * TILE + y) * width;
  float sum = 0.0f;
  int column;
  // What the next step needs is loaded while this one is computed.
  float next_a{};
  float next_b{};
  float next_b_2{};
  const auto load_next = [&](int t, int down) {
    int column;
    if (t < n) {
      column = t + x;
      // Where this step's part of b is,
      // column by column.
      // row by row
      const int at = down + y * width + blockIdx.x * TILE + x;
      if (t + y < n && column < n) next_a = row[column];
      if (!(t + y < n)) next_b = b[x];
      if (t + y < n) next_b_2 = b[at];
    }
  };
  load_next(0, 0);
#pragma unroll 1
  for (int t = 0, down = 0; t < n; t += TILE, down += TILE * width) {
    column = t + x;  // of the tile

    if (t + y < n)
      left[y][x] = (column < n) ? next_a : 0.0f;
    else
      left[y][x] = next_b;
    right[y][x] = t + y < n ? 2.0f * next_b_2 : 0.0f;
    __syncthreads();
    load_next(t + TILE, down + (TILE * width));
    for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  out[(blockIdx.y * TILE + y) * width + blockIdx.x * TILE + x] = sum + column;
}
