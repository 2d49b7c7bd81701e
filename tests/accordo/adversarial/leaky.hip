// Leaky ReLU.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void leaky(const float* x, float* y, int n, float slope) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : slope * x[i];
}
// kernel end
int main() {
  const int n = 300;
  leaky<<<5, 64>>>(numbers(n), zeros<float>(n), n, 0.1f);
  return finish();
}
