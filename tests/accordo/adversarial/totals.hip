// The sum of all elements, by a tree in each workgroup and one atomic addition.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void totals(const float* in, float* sum, int n) {
  __shared__ float part[1024];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}
// kernel end
int main() {
  const int n = 250;
  totals<<<4, 64>>>(numbers(n), zeros<float>(1), n);
  return finish();
}
