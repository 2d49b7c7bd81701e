// facts: {"launches": [[[65536, 1, 1], [128, 1, 1]]]}
#include <hip/hip_runtime.h>
constexpr unsigned kThreads = 128;
__global__ void k(const int* in, int* out) {
  __shared__ int best[kThreads];
  best[threadIdx.x] = in[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
  for (unsigned left = kThreads; left > 1;) {
    const unsigned half = (left + 1) / 2;
    if (threadIdx.x < left / 2) best[threadIdx.x] = max(best[threadIdx.x], best[threadIdx.x + half]);
    left = half;
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = best[0];
}
