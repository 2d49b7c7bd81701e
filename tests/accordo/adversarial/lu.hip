// LU factorisation in place of many small matrices, which a table of pointers leads to.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void lu(float* const* matrices, int n, int count) {
  const int one = blockIdx.x * blockDim.x + threadIdx.x;
  if (one >= count) return;
  float* a = matrices[one];
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) {
      const float l = a[i * n + k] / a[k * n + k];
      a[i * n + k] = l;
      for (int j = k + 1; j < n; ++j) a[i * n + j] -= l * a[k * n + j];
    }
  }
}
// kernel end
int main() {
  const int n = 6, count = 20;
  std::vector<float*> host(count);
  for (float*& m : host) {
    m = filled<float>(n * n, [](int i) { return (i / 6 == i % 6 ? 20.0f : 0.0f) + number(i < 36 ? i / 6 + i % 6 : i); });
  }
  float** table;
  (void)hipMalloc(&table, count * sizeof(float*));
  (void)hipMemcpy(table, host.data(), count * sizeof(float*), hipMemcpyHostToDevice);
  lu<<<1, 32>>>(table, n, count);
  return finish();
}
