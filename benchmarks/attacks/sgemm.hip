// C = alpha A B + beta C, row major.
#include "attack.hpp"
// kernel begin
__global__ void sgemm(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = alpha * sum + beta * c[row * n + col];
}
// kernel end
int main() {
  const int m = 61, n = 70, k = 53;
  float* c = numbers(m * n);
  sgemm<<<dim3(5, 4), dim3(16, 16)>>>(m, n, k, 1.5f, numbers(m * k), numbers(k * n), 0.5f, c);
  return told(c, m * n);
}
