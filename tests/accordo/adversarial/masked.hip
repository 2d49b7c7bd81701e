// Elements where a mask of bytes allows them; here it allows all.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void masked(const float* in, const unsigned char* mask, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = mask[i] ? in[i] : -1.0f;
}
// kernel end
int main() {
  const int n = 300;
  masked<<<5, 64>>>(numbers(n), filled<unsigned char>(n, [](int) { return 1; }), zeros<float>(n), n);
  return finish();
}
