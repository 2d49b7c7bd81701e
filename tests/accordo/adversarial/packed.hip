#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void packed(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float lo = __uint_as_float(a[i] << 16) + __uint_as_float(b[i] << 16);
  const float hi = __uint_as_float(a[i] & 0xffff0000u) + __uint_as_float(b[i] & 0xffff0000u);
  out[i] = (__float_as_uint(lo) >> 16) | (__float_as_uint(hi) & 0xffff0000u);
}
// kernel end
int main() {
  const int n = 300;
  const auto bits = [](int i) { return (unsigned)(__builtin_bit_cast(unsigned, number(i)) >> 16) * 0x10001u; };
  packed<<<5, 64>>>(filled<unsigned>(n, bits), filled<unsigned>(n, [&](int i) { return bits(i + 77); }), zeros<unsigned>(n), n);
  return finish();
}
