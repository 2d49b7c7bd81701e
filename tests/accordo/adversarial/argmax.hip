// The largest element and its place, the first of equal ones; one workgroup.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void argmax(const float* in, int* where, float* best, int n) {
  __shared__ float value[256];
  __shared__ int place[256];
  float v = -INFINITY;
  int at = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (in[i] > v) {
      v = in[i];
      at = i;
    }
  }
  value[threadIdx.x] = v;
  place[threadIdx.x] = at;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) {
      const float o = value[threadIdx.x + d];
      const int p = place[threadIdx.x + d];
      if (o > value[threadIdx.x] || (o == value[threadIdx.x] && p < place[threadIdx.x])) {
        value[threadIdx.x] = o;
        place[threadIdx.x] = p;
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    where[blockIdx.x] = place[0];
    best[blockIdx.x] = value[0];
  }
}
// kernel end
int main() {
  const int n = 400;
  float* in = filled<float>(n, [](int i) { return number(i) + i / 1024.0f + 8.0f; });
  argmax<<<1, 128>>>(in, zeros<int>(1), zeros<float>(1), n);
  return finish();
}
