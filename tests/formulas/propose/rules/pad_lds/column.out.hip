// facts: {"launches": [[[64, 32, 1], [32, 8, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  __shared__ float tile[32][32 + 1];
  for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = in[r * 32 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8) out[r * 32 + threadIdx.x] = tile[threadIdx.x][r];
}
