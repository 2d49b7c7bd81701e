// Sums with a second number for what rounding loses.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void kahan(const float* in, float* out, int n, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0, lost = 0;
  for (int k = 0; k < length; ++k) {
    const float x = in[k * n + i] - lost;
    const float next = sum + x;
    lost = (next - sum) - x;
    sum = next;
  }
  out[i] = sum;
}
// kernel end
int main() {
  const int n = 64, length = 400;
  float* in = filled<float>(n * length, [](int i) { return 1000.0f + number(i) / 3.0f; });
  kahan<<<1, 64>>>(in, zeros<float>(n), n, length);
  return finish();
}
