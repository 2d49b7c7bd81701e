// A product of quantised matrices, the second one transposed: zero points, a scale for each column, rounded to even.
#include "attack.hpp"
// kernel begin
__global__ void int8gemm(const signed char* a, const signed char* b, const float* scale, signed char* out, int m,
                         int n, int k, int za, int zb, int zo) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  int sum = 0;
  for (int i = 0; i < k; ++i) sum += (a[r * k + i] - za) * (b[c * k + i] - zb);
  const float v = rintf(sum * scale[c]) + zo;
  out[r * n + c] = (signed char)fminf(fmaxf(v, -128.0f), 127.0f);
}
// kernel end
int main() {
  const int m = 40, n = 70, k = 64;
  const signed char* a = filled<signed char>(m * k, [](int i) { return static_cast<signed char>(bits(i) % 81 - 40); });
  const signed char* b = filled<signed char>(n * k, [](int i) { return static_cast<signed char>(bits(i) % 61 - 30); });
  const float* scale = filled<float>(n, [](int i) { return 0.003f + i * 1e-5f; });
  signed char* out = zeros<signed char>(m * n);
  int8gemm<<<dim3(3, 5), dim3(32, 8)>>>(a, b, scale, out, m, n, k, 3, 0, -5);
  return told(out, m * n);
}
