// Inclusive sums within each workgroup, in 64 bits, and the sum of each workgroup.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void scan(const int* in, long long* out, long long* sums, int n) {
  __shared__ long long part[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    const long long left = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
    __syncthreads();
    part[threadIdx.x] += left;
    __syncthreads();
  }
  if (i < n) out[i] = part[threadIdx.x];
  if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = part[threadIdx.x];
}
// kernel end
int main() {
  const int n = 250;
  int* in = filled<int>(n, [](int i) { return static_cast<int>(number(i) * 64); });
  scan<<<4, 64>>>(in, zeros<long long>(n), zeros<long long>(5), n);
  return finish();
}
