// Convolution of rows with three taps, two results at a time (Winograd's F(2, 3)); rows end in zeros.
#include "attack.hpp"
// kernel begin
__global__ void winograd(const float* in, const float* taps, float* out, int rows, int cols) {
  const int pair = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  const int at = 2 * pair;
  if (row >= rows || at >= cols) return;
  const float* line = in + (size_t)row * cols;
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = at + i < cols ? line[at + i] : 0.0f;
  const float g0 = taps[0], g1 = taps[1], g2 = taps[2];
  const float m0 = (d[0] - d[2]) * g0, m3 = (d[1] - d[3]) * g2;
  const float m1 = (d[1] + d[2]) * (g0 + g1 + g2) * 0.5f, m2 = (d[2] - d[1]) * (g0 - g1 + g2) * 0.5f;
  out[(size_t)row * cols + at] = m0 + m1 + m2;
  if (at + 1 < cols) out[(size_t)row * cols + at + 1] = m1 - m2 - m3;
}
// kernel end
int main() {
  const int rows = 7, cols = 101;
  float* out = zeros<float>(rows * cols);
  winograd<<<dim3(2, rows), 32>>>(numbers(rows * cols), numbers(3), out, rows, cols);
  return told(out, rows * cols);
}
