// facts: {"launches": [[[512, 512, 3], [32, 8, 1], {"rows": 500, "cols": 500, "inner": 256}]]}
#include <hip/hip_runtime.h>

__global__ void batched(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c,
                        const int rows, const int cols, const int inner)
{
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  const double *mine = a + (blockIdx.z * rows + row) * inner;
  double acc = 0;
  // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
  constexpr int tile_i = 8;
  __shared__ double a_tile[tile_i][8 + 1];  // padded: a column lies in different banks
  __shared__ double b_tile[tile_i][32];
  int first_i = 0;
  if (blockDim.x == 32 && blockDim.y == 8 && blockDim.z == 1 && cols > 0 && rows > 0) {
    for (; first_i + tile_i <= inner; first_i += tile_i) {
      for (unsigned place = threadIdx.x + 32 * threadIdx.y; place < 8 * tile_i; place += 256) {
        const unsigned thread_y = place / tile_i, step = place % tile_i;
        const int a_i = first_i + step;
        const int a_row = blockIdx.y * 8 + thread_y;
        const double *a_mine = a + (blockIdx.z * rows + a_row) * inner;
        a_tile[step][thread_y] = a_row < rows ? a_mine[a_i] : 0;
      }
      const int b_i = first_i + threadIdx.y;
      b_tile[threadIdx.y][threadIdx.x] = col < cols ? b[(blockIdx.z * inner + b_i) * cols + col] : 0;
      __syncthreads();
      #pragma unroll
      for (int step = 0; step < tile_i; ++step) {
        acc += a_tile[step][threadIdx.y] * b_tile[step][threadIdx.x];
      }
      __syncthreads();
    }
  }
  if (row >= rows || col >= cols)
    return;
  #pragma unroll 4
  for (int i = first_i; i < inner; i++)
    acc += mine[i] * b[(blockIdx.z * inner + i) * cols + col];
  c[(blockIdx.z * rows + row) * cols + col] = acc;
}
