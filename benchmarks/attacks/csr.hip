// y = A x, A in compressed rows, one row each.
#include "attack.hpp"
// kernel begin
__global__ void csr(int rows, const int* begin, const int* cols, const float* values, const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = begin[row]; i < begin[row + 1]; ++i) sum += values[i] * x[cols[i]];
  y[row] = sum;
}
// kernel end
int main() {
  const int rows = 700, each = 5;
  int* begin = filled<int>(rows + 1, [](int i) { return i * 5; });
  float* y = zeros<float>(rows);
  csr<<<6, 128>>>(rows, begin, upto<int>(rows * each, rows), numbers(rows * each), numbers(rows), y);
  return told(y, rows);
}
