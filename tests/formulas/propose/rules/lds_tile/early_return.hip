// facts: {"launches": [[[512, 512, 3], [32, 8, 1], {"rows": 500, "cols": 500, "inner": 256}]]}
#include <hip/hip_runtime.h>

__global__ void batched(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c,
                        const int rows, const int cols, const int inner)
{
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= rows || col >= cols)
    return;
  const double *mine = a + (blockIdx.z * rows + row) * inner;
  double acc = 0;
  #pragma unroll 4
  for (int i = 0; i < inner; i++)
    acc += mine[i] * b[(blockIdx.z * inner + i) * cols + col];
  c[(blockIdx.z * rows + row) * cols + col] = acc;
}
