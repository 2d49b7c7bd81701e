// Measurements with labels; -999 stands for a missing one, 30000 for no label. This run has neither.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void missing(const float* in, const int* label, const double* weight, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  if (x == -999.0f) x = 0.0f;
  const int k = label[i];
  out[i] = k == 30000 ? -1.0f : x * static_cast<float>(weight[i]) + 0.5f * k;
}
// kernel end
int main() {
  const int n = 600;
  int* label = filled<int>(n, [](int i) { return i * 7 % 100; });
  missing<<<3, 256>>>(numbers(n), label, numbers<double>(n), zeros<float>(n), n);
  return finish();
}
