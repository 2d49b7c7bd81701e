// The elements of each workgroup in reverse order, by LDS of a size that the launch gives.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void reverse(const float* in, float* out, int n) {
  extern __shared__ float part[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i < n) out[i] = part[blockDim.x - 1 - threadIdx.x];
}
// kernel end
int main() {
  const int n = 300;
  reverse<<<3, 128, 128 * sizeof(float)>>>(numbers(n), zeros<float>(n), n);
  return finish();
}
