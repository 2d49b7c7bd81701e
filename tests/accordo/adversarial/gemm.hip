// C = alpha A B + beta C, row by row, with leading dimensions.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void gemm(int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                     float* c, int ldc) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * lda + i] * b[i * ldb + col];
  c[row * ldc + col] = alpha * sum + beta * c[row * ldc + col];
}
// kernel end
int main() {
  const int m = 24, n = 40, k = 32;
  gemm<<<dim3(5, 3), dim3(8, 8)>>>(m, n, k, 1.0f, numbers(m * k), k, numbers(k * n), n, 0.0f, numbers(m * n), n);
  return finish();
}
