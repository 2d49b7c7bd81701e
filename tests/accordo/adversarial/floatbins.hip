// How often each number comes, held as floats; a workgroup counts in LDS.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void floatbins(const float* x, int* bins, int n) {
  __shared__ int mine[16];
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&mine[static_cast<int>(x[i])], 1);
  __syncthreads();
  if (threadIdx.x < 16 && mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
// kernel end
int main() {
  const int n = 512;
  float* x = filled<float>(n, [](int i) { return i % 64 < 56 ? 3.0f : 11.0f; });
  floatbins<<<8, 64>>>(x, zeros<int>(16), n);
  return finish();
}
