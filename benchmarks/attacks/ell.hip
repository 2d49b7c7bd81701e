// y = A x, A in rows of equal length stored by columns; -1 is no column.
#include "attack.hpp"
// kernel begin
__global__ void ell(int rows, int width, int pitch, const int* cols, const float* values, const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < width; ++k) {
    const int at = k * pitch + row;
    const int col = cols[at];
    if (col >= 0) sum += values[at] * x[col];
  }
  y[row] = sum;
}
// kernel end
int main() {
  const int rows = 900, width = 7, pitch = 928;
  const int* cols = filled<int>(width * pitch, [](int i) {
    const int row = i % 928, k = i / 928;
    return row < 900 && k < 4 + row % 4 ? static_cast<int>(bits(i) % 900) : -1;
  });
  float* y = zeros<float>(rows);
  ell<<<8, 128>>>(rows, width, pitch, cols, numbers(width * pitch), numbers(rows), y);
  return told(y, rows);
}
