// One step of a sorting network.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void bitonic(int* data, int j, int k, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int o = i ^ j;
  if (o <= i || i >= n || o >= n) return;
  const int a = data[i], b = data[o];
  if (((i & k) == 0) == (a > b)) {
    data[i] = b;
    data[o] = a;
  }
}
// kernel end
int main() {
  const int n = 256;
  int* data = filled<int>(n, [](int i) { return static_cast<int>(number(i) * 64); });
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) bitonic<<<4, 64>>>(data, j, k, n);
  return finish();
}
