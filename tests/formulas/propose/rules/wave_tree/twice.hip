// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  extern __shared__ float least[];
  const int tid = threadIdx.x;
  const int threads = blockDim.x;
  least[tid] = in[tid];
  least[tid + blockDim.x] = in[tid + blockDim.x];
  for (int d = threads; d > 0; d /= 2) {
    __syncthreads();
    if (tid < d) {
      float mine = least[tid];
      float theirs = least[tid + d];
      if (theirs < mine) least[tid] = theirs;
    }
  }
  if (tid == 0) out[blockIdx.x] = least[0];
}
