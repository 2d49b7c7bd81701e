// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float sums[256];
  const unsigned tid = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + tid;
  sums[tid] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    unsigned index = 2 * s * tid;
    if (index < blockDim.x) {
      sums[index] += sums[index + s];
    }
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}
