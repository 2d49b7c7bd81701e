// Every other element is scaled in place.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void evens(float* data, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i < n) data[2 * i] *= scale;
}
// kernel end
int main() {
  const int n = 600;
  evens<<<5, 64>>>(numbers(n), n, 3.0f);
  return finish();
}
