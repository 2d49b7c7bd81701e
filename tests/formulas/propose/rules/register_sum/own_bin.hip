// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "disjoint": ["in", "bins"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, unsigned* bins, int n) {
  __shared__ int most[4];
  if (threadIdx.x < 4) most[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (in[i] < 0) continue;
    atomicAdd(&bins[threadIdx.x], 1u);
    for (int k = 0; k < 3; ++k) atomicMax(most + (threadIdx.x & 3), in[i] >> k);
  }
  __syncthreads();
  if (threadIdx.x < 4) atomicMax((int*)&bins[1024 + threadIdx.x], most[threadIdx.x]);
}
