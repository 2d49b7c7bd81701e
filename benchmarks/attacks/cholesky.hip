// Cholesky factors of small matrices, one workgroup each, in place; below the diagonal and on it.
#include "attack.hpp"
// kernel begin
__global__ void cholesky(float* a, int n, int batch) {
  const int b = blockIdx.x;
  if (b >= batch) return;
  float* m = a + (size_t)b * n * n;
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0) m[k * n + k] = sqrtf(m[k * n + k]);
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) m[i * n + k] /= m[k * n + k];
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x)
      for (int j = k + 1; j <= i; ++j) m[i * n + j] -= m[i * n + k] * m[j * n + k];
    __syncthreads();
  }
}
// kernel end
int main() {
  const int n = 20, batch = 6;
  auto* a = filled<float>(n * n * batch, [](int i) {
    const int r = i / 20 % 20, c = i % 20;
    return r == c ? 60.0f + r : number(r < c ? r * 20 + c : c * 20 + r) / 5;
  });
  cholesky<<<batch, 64>>>(a, n, batch);
  return told(a, n * n * batch);
}
