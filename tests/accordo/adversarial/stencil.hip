// Five-point stencil on a field whose rows lie `pitch` elements apart; the border is copied.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void stencil(const float* in, float* out, int rows, int cols, int pitch, float c) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  const int at = y * pitch + x;
  if (x == 0 || y == 0 || x == cols - 1 || y == rows - 1) {
    out[at] = in[at];
    return;
  }
  out[at] = in[at] + c * (in[at - 1] + in[at + 1] + in[at - pitch] + in[at + pitch] - 4.0f * in[at]);
}
// kernel end
int main() {
  const int rows = 20, cols = 30;
  float *in = numbers(rows * cols), *out = zeros<float>(rows * cols);
  stencil<<<dim3(4, 5), dim3(8, 4)>>>(in, out, rows, cols, cols, 0.2f);
  return finish();
}
