// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float sums[256];
  const unsigned tid = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + tid;
  sums[tid] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned left = blockDim.x; left > 1;) {
    const unsigned half = (left + 1) / 2;
    if (tid < left / 2) sums[tid] += sums[tid + half];
    left = half;
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}
