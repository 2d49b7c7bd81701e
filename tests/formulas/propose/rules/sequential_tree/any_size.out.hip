// facts: {"launches": [[[18432, 1, 1], [192, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* out) {
  extern __shared__ int least[];
  int tid = threadIdx.x;
  least[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (int left = blockDim.x; left > 1;) {
    const int half = (left + 1) / 2;
    if (tid < left / 2) least[tid] = min(least[tid], least[tid + half]);
    left = half;
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = least[0];
}
