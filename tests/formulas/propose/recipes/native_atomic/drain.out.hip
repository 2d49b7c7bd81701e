// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void drain(int* level, const int* used, int n) {
  __shared__ int left;
  if (threadIdx.x == 0) left = level[blockIdx.x];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicSub(&left, used[i]);
  __syncthreads();
  if (threadIdx.x == 0) level[blockIdx.x] = left;
}
