// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, unsigned* bins, int n) {
  __shared__ unsigned mine[1024];
  for (int b = threadIdx.x; b < 1024; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    atomicAdd(&mine[in[i] & 1023], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 1024; b += blockDim.x) {
    const auto amount = mine[b];
    if (amount != 0) atomicAdd(&bins[b], amount);
  }
}
