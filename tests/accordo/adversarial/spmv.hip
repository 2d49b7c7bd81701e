// Sparse matrix times vector, rows compressed; every row has five entries, as a finite-difference matrix does.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void spmv(const int* row, const int* col, const float* val, const float* x, float* y, int rows) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int k = row[r]; k < row[r + 1]; ++k) sum += val[k] * x[col[k]];
  y[r] += sum;
}
// kernel end
int main() {
  const int rows = 200;
  int* row = filled<int>(rows + 1, [](int i) { return 5 * i; });
  int* col = filled<int>(5 * rows, [](int i) { return (i / 5 + (i % 5 - 2) * 7 + 200) % 200; });
  spmv<<<4, 64>>>(row, col, numbers(5 * rows), numbers(rows), zeros<float>(rows), rows);
  return finish();
}
