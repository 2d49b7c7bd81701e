// Gradient of a layer norm for its input, one workgroup for each row.
#include "attack.hpp"
// kernel begin
__global__ void lnback(const float* x, const float* dy, const float* gamma, float* dx, int rows, int cols, float eps) {
  __shared__ float part[4][64];
  const int row = blockIdx.x, t = threadIdx.x;
  if (row >= rows) return;
  const float* mine = x + (size_t)row * cols;
  const float* grad = dy + (size_t)row * cols;
  float sum = 0.0f;
  for (int i = t; i < cols; i += 64) sum += mine[i];
  part[0][t] = sum;
  __syncthreads();
  float mean = 0.0f;
  for (int i = 0; i < 64; ++i) mean += part[0][i];
  mean /= cols;
  float squares = 0.0f, g = 0.0f, gx = 0.0f;
  for (int i = t; i < cols; i += 64) {
    const float c = mine[i] - mean, d = grad[i] * gamma[i];
    squares += c * c;
    g += d;
    gx += d * c;
  }
  part[1][t] = squares;
  part[2][t] = g;
  part[3][t] = gx;
  __syncthreads();
  squares = g = gx = 0.0f;
  for (int i = 0; i < 64; ++i) {
    squares += part[1][i];
    g += part[2][i];
    gx += part[3][i];
  }
  const float inverse = rsqrtf(squares / cols + eps);
  for (int i = t; i < cols; i += 64) {
    const float c = (mine[i] - mean) * inverse;
    dx[(size_t)row * cols + i] = inverse * (grad[i] * gamma[i] - g / cols - c * (gx * inverse / cols));
  }
}
// kernel end
int main() {
  const int rows = 12, cols = 150;
  float* dx = zeros<float>(rows * cols);
  lnback<<<rows, 64>>>(numbers(rows * cols), numbers(rows * cols), numbers(cols), dx, rows, cols, 1e-5f);
  return told(dx, rows * cols);
}
