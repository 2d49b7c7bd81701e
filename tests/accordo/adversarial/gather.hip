// Rows of a table, chosen by an index; a negative one gives zeros. What was recorded has the identity.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void gather(const float* table, const int* index, float* out, int n, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * width) return;
  const int row = index[i / width];
  out[i] = row < 0 ? 0.0f : table[row * width + i % width];
}
// kernel end
int main() {
  const int n = 60, width = 6;
  int* index = filled<int>(n, [](int i) { return i; });
  gather<<<6, 64>>>(numbers(n * width), index, zeros<float>(n * width), n, width);
  return finish();
}
