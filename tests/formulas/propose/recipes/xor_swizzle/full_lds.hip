// facts: {"launches": [[[64, 128, 1], [64, 8, 1]]], "static_lds": 65536}
#include <hip/hip_runtime.h>
constexpr int kSide = 128;
__global__ void k(const float* in, float* out) {
  __shared__ float tile[kSide][kSide];
  for (int r = threadIdx.y; r < kSide; r += blockDim.y) {
    tile[r][threadIdx.x] = in[r * kSide + threadIdx.x];
    tile[r][threadIdx.x + 64] = in[r * kSide + threadIdx.x + 64];
  }
  __syncthreads();
  for (int r = threadIdx.y; r < kSide; r += blockDim.y) {
    out[r * kSide + threadIdx.x] = tile[threadIdx.x][r] + tile[threadIdx.x + 64][r];
  }
}
