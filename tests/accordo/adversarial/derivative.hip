// A first derivative by differences of eighth order: of a field that is the same everywhere, only rounding is left.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void derivative(const float* in, float* out, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i < 4 || i >= n - 4) {
    out[i] = 0;
    return;
  }
  float sum = 0;
  sum += 0.8f * in[i + 1] - 0.8f * in[i - 1];
  sum += 0.2f * in[i - 2] - 0.2f * in[i + 2];
  sum += 0.038095238f * in[i + 3] - 0.038095238f * in[i - 3];
  sum += 0.0035714285f * in[i - 4] - 0.0035714285f * in[i + 4];
  out[i] = sum * scale;
}
// kernel end
int main() {
  const int n = 500;
  float *in = numbers(n), *out = numbers(n);
  derivative<<<8, 64>>>(in, out, n, 3.1f);
  return finish();
}
