// Counts of keys that lie in range; none is recorded outside of it.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void table(const int* keys, int* counts, int n, int bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int key = keys[i];
  if (key >= 0 && key < bins) atomicAdd(&counts[key], 1);
}
// kernel end
int main() {
  const int n = 300, bins = 32;
  int* keys = filled<int>(n, [](int i) { return i * 7 % 32; });
  table<<<5, 64>>>(keys, zeros<int>(bins), n, bins);
  return finish();
}
