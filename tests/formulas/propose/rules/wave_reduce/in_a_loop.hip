// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* out, int n) {
  __shared__ int size;
  if (blockIdx.x > gridDim.x / 2) return;
  for (int block = blockIdx.x; block < n; block += gridDim.x) {
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    if (in[block * blockDim.x + threadIdx.x] > 3) atomicAdd(&size, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[block] = size;
    __syncthreads();
  }
}
