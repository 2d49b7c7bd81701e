// Weighted sums that no declaration gives a type: a workspace of bytes with structures, floats and counters side by side,
// and variables of the device.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
struct Entry {
  float sum[2];
  int count;
  union {
    float size;
    int place;
  };
};
__device__ float totals[160];
__device__ int marks[160];
// kernel begin
__global__ void untyped(const float* values, const float* weights, void* workspace, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int j = 0; j < 40; ++j) sum += values[i + j] * weights[j];
  Entry* const entries = static_cast<Entry*>(workspace);
  float* const small = reinterpret_cast<float*>(entries + n);
  entries[i].sum[0] = sum;
  entries[i].sum[1] = sum > 0.0f ? sum : 0.0f;
  entries[i].count = 1000000 * i;
  if (i % 2) entries[i].size = sum * sum;
  else entries[i].place = 3000 * i;
  small[i] = sum * 1e-6f;
  totals[i] = sum * 3.0f;
  marks[i] = 500000 * i;
}
// kernel end
int main() {
  const int n = 150;
  untyped<<<3, 64>>>(numbers(n + 40), numbers(40), zeros<char>(n * (sizeof(Entry) + sizeof(float))), n);
  return finish();
}
