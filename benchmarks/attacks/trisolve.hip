// One level of a triangular solve: rows that depend on solved ones only; the last entry of each row is its diagonal.
#include "attack.hpp"
// kernel begin
__global__ void trisolve(const int* level, int count, const int* begin, const int* cols, const float* values,
                         const float* rhs, float* x) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const int row = level[k];
  const int last = begin[row + 1] - 1;
  float sum = rhs[row];
  for (int i = begin[row]; i < last; ++i) sum -= values[i] * x[cols[i]];
  x[row] = sum / values[last];
}
// kernel end
int main() {
  const int rows = 1200, count = 500, each = 5;
  const int* level = filled<int>(count, [](int i) { return 600 + i; });
  const int* begin = filled<int>(rows + 1, [](int i) { return i * 5; });
  const int* cols = filled<int>(rows * each, [](int i) {
    return i % 5 == 4 ? i / 5 : static_cast<int>(bits(i) % (i / 5 < 600 ? i / 5 + 1 : 600));
  });
  const float* values = filled<float>(rows * each, [](int i) { return i % 5 == 4 ? 30.0f + i % 7 : number(i); });
  float* x = numbers(rows);
  trisolve<<<4, 128>>>(level, count, begin, cols, values, numbers(rows), x);
  return told(x, rows);
}
