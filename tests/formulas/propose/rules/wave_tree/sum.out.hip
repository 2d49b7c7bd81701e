// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
template <typename T>
__global__ void k(const T* in, T* out, int n) {
  __shared__ T sums[256];
  const int tid = threadIdx.x;
  sums[tid] = 0;
  for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) sums[tid] += in[i];
  for (int s = blockDim.x / 2; s >= warpSize; s /= 2) {
    __syncthreads();
    if (tid < s) {
      sums[tid] += sums[tid + s];
    }
  }
  __syncthreads();
  // One wave has the rest: its lanes exchange values without barriers.
  if (tid < warpSize) {
    T value = sums[tid];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      const T other = __shfl_down(value, offset);
      value += other;
    }
    if (tid == 0) sums[0] = value;
  }
  if (tid == 0) out[blockIdx.x] = sums[tid];
}
template __global__ void k<float>(const float*, float*, int);
