// facts: {"launches": [[[65536, 1, 1], [200, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float sum;
  __shared__ unsigned flags, most[2];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) most[threadIdx.x] = 0u;
  if (threadIdx.x == 0) sum = flags = 0;
  __syncthreads();
  atomicAdd(&sum, in[i] * 2);
  for (int j = i; j < n; j += 1024) {
    if (in[j] < 0.0f) continue;
    atomicOr(&flags, 1u << (j & 31));
    atomicMax(&most[1], (unsigned)j);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum + flags + most[0] + most[1];
}
