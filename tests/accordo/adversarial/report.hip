#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
#include <cstdio>
// kernel begin
__global__ void report(const float* in, float* out, int n, float limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] > limit) printf("element %d is too large: %g\n", i, in[i]);
  out[i] = fminf(in[i], limit);
}
// kernel end
int main() {
  const int n = 200;
  report<<<4, 64>>>(numbers(n), zeros<float>(n), n, 8.0f);
  return finish();
}
