// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  extern __shared__ float least[];
  const int tid = threadIdx.x;
  const int threads = blockDim.x;
  least[tid] = in[tid];
  least[tid + blockDim.x] = in[tid + blockDim.x];
  for (int d = threads; d >= warpSize; d /= 2) {
    __syncthreads();
    if (tid < d) {
      float mine = least[tid];
      float theirs = least[tid + d];
      if (theirs < mine) least[tid] = theirs;
    }
  }
  __syncthreads();
  // One wave has the rest: its lanes exchange values without barriers.
  if (tid < warpSize) {
    float value = least[tid];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      const float other = __shfl_down(value, offset);
      float mine = value;
      float theirs = other;
      if (theirs < mine) value = theirs;
    }
    if (tid == 0) least[0] = value;
  }
  if (tid == 0) out[blockIdx.x] = least[0];
}
