// Softmax of rows of scores under a mask; a row without any unmasked score is zeros.
#include "attack.hpp"
// kernel begin
__global__ void masked(const float* scores, const unsigned char* mask, float* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* mine = scores + (size_t)row * cols;
  const unsigned char* open = mask + (size_t)row * cols;
  float top = -INFINITY;
  for (int i = 0; i < cols; ++i)
    if (open[i]) top = fmaxf(top, mine[i]);
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i)
    if (open[i]) sum += expf(mine[i] - top);
  for (int i = 0; i < cols; ++i) out[(size_t)row * cols + i] = open[i] ? expf(mine[i] - top) / sum : 0.0f;
}
// kernel end
int main() {
  const int rows = 100, cols = 36;
  float* out = zeros<float>(rows * cols);
  auto* mask = filled<unsigned char>(rows * cols, [](int i) { return (unsigned char)(bits(i) % 4 != 0); });
  masked<<<2, 64>>>(numbers(rows * cols), mask, out, rows, cols);
  return told(out, rows * cols);
}
