// facts: {"launches": [[[18432, 1, 1], [192, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* out) {
  extern __shared__ int least[];
  int tid = threadIdx.x;
  least[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0 && tid + s < blockDim.x) {
      least[tid] = min(least[tid], least[tid + s]);
    }
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = least[0];
}
