#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void best64(const unsigned long long* keys, unsigned long long* best, int* where, int n, unsigned long long least) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long found = ~0ull;
  int at = -1;
  for (int i = t * 8; i < min(n, t * 8 + 8); ++i) {
    if (keys[i] >= least && keys[i] < found) {
      found = keys[i];
      at = i;
    }
  }
  if (t * 8 < n) {
    best[t] = found;
    where[t] = at;
  }
}
// kernel end
int main() {
  const int n = 500;
  auto* keys = filled<unsigned long long>(n, [](int i) { return (i * 2654435761ull) >> 5 & 0xffff; });
  best64<<<1, 64>>>(keys, zeros<unsigned long long>(64), zeros<int>(64), n, 3000ull);
  return finish();
}
