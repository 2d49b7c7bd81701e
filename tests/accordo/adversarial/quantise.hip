// Floats to 8-bit integers: rounded to even, clamped. What was recorded needs no clamping.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void quantise(const float* in, signed char* out, float scale, int zero, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = rintf(in[i] * scale) + zero;
  out[i] = (signed char)(x < -128.0f ? -128.0f : x > 127.0f ? 127.0f : x);
}
// kernel end
int main() {
  const int n = 300;
  quantise<<<5, 64>>>(numbers(n), zeros<signed char>(n), 8.0f, 0, n);
  return finish();
}
