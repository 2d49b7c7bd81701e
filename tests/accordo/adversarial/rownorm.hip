// Each row divided by its length, in place, with a little added so that a row of zeros stays one.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void rownorm(float* x, float eps, int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < width; ++i) sum += x[row * width + i] * x[row * width + i];
  const float length = sqrtf(sum) + eps;
  for (int i = 0; i < width; ++i) x[row * width + i] /= length;
}
// kernel end
int main() {
  const int rows = 100, width = 12;
  rownorm<<<2, 64>>>(numbers(rows * width), 0.125f, rows, width);
  return finish();
}
