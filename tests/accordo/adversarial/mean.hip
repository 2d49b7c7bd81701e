// The mean of each tile, in double precision; the last tile may be shorter.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void mean(const double* in, double* out, int n) {
  __shared__ double part[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  const int first = blockIdx.x * blockDim.x;
  if (threadIdx.x == 0 && first < n) out[blockIdx.x] = part[0] / min((int)blockDim.x, n - first);
}
// kernel end
int main() {
  const int n = 256;
  mean<<<2, 128>>>(numbers<double>(n), zeros<double>(2), n);
  return finish();
}
