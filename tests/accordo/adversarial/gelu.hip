// An activation on 16-bit floats.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void gelu(const __bf16* in, __bf16* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = (float)in[i];
  out[i] = (__bf16)(0.5f * x * (1.0f + erff(x * 0.70710678f)));
}
// kernel end
int main() {
  const int n = 300;
  const auto bits = [](int i) { return static_cast<unsigned short>(__builtin_bit_cast(unsigned, number(i) / 2) >> 16); };
  gelu<<<5, 64>>>((__bf16*)filled<unsigned short>(n, bits), (__bf16*)zeros<unsigned short>(n), n);
  return finish();
}
