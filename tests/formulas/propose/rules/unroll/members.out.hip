// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "member_pointers": {"m.values": "double", "m.columns": "int"}}
#include <hip/hip_runtime.h>
struct Csr {
  const double* values;
  const int* columns;
  const int* rows;
  int n;
  __device__ double value(int k) const { return values[k]; }
};
__global__ void k(Csr m, const double* x, double* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.n) return;
  double sum = 0.0;
  #pragma unroll 4
  for (int k = m.rows[row]; k < m.rows[row + 1]; ++k) sum += m.value(k);
  y[row] = sum;
}
