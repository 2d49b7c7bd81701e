// facts: {"launches": [[[65536, 1, 1], [128, 1, 1]]]}
#include <hip/hip_runtime.h>
constexpr unsigned kThreads = 128;
__global__ void k(const int* in, int* out) {
  __shared__ int best[kThreads];
  best[threadIdx.x] = in[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
  for (unsigned step = 1; step < kThreads; step <<= 1) {
    if (threadIdx.x % (2 * step) == 0) best[threadIdx.x] = max(best[threadIdx.x], best[threadIdx.x + step]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = best[0];
}
