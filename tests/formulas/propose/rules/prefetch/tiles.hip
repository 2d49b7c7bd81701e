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
#pragma unroll 1
  for (int t = 0, down = 0; t < n; t += TILE, down += TILE * width) {
    column = t + x;  // of the tile

    // Where this step's part of b is,
    // column by column.
    const int at = down + y * width + blockIdx.x * TILE + x;  // row by row

    if (t + y < n)
      left[y][x] = (column < n) ? row[column] : 0.0f;
    else
      left[y][x] = b[x];
    right[y][x] = t + y < n ? 2.0f * b[at] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  out[(blockIdx.y * TILE + y) * width + blockIdx.x * TILE + x] = sum + column;
}
