// Sums of products, one of each row of integers, in 64 bits.
#include "attack.hpp"
// kernel begin
__global__ void dots(const int* a, const int* b, long long* sums, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  long long sum = 0;
  for (int i = 0; i < cols; ++i) sum += (long long)a[row * cols + i] * b[i];
  sums[row] = sum;
}
// kernel end
int main() {
  const int rows = 300, cols = 40;
  long long* sums = zeros<long long>(rows);
  dots<<<5, 64>>>(upto<int>(rows * cols, 1000), upto<int>(cols, 1000), sums, rows, cols);
  return told(sums, rows);
}
