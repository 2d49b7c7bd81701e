// Padding: the tile of a transpose has rows of 32, then of 33.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    __shared__ float tile[32][32];
    for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = in[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) out[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][r];
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float tile[32][33];
    for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = in[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) out[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][r];
}

PAIR((Sizes{1 << 22, 1 << 22, 2048}), (Call{before, dim3(64, 64), dim3(32, 8)}), (Call{after, dim3(64, 64), dim3(32, 8)}))
