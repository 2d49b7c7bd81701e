// facts: {"launches": [[[262144, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const unsigned* in, unsigned* total, unsigned* most) {
  __shared__ unsigned size;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) size = 0;
  __syncthreads();
  atomicAdd(&size, in[i] & 15u);
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) {
    atomicAdd(total, size);
    atomicMax(most, size + blockIdx.x);
  }
}
