// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
template <typename T>
__global__ void k(const T* in, T* out, int n) {
  __shared__ T sums[256];
  const int tid = threadIdx.x;
  sums[tid] = 0;
  for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) sums[tid] += in[i];
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    __syncthreads();
    if (tid < s) {
      sums[tid] += sums[tid + s];
    }
  }
  if (tid == 0) out[blockIdx.x] = sums[tid];
}
template __global__ void k<float>(const float*, float*, int);
