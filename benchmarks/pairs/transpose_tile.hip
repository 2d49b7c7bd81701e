// Coalescing: a transpose writes columns, then rows through LDS.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int y = blockIdx.y * 32 + r;
        out[x * n + y] = in[y * n + x];
    }
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float tile[32][33];
    for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = in[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) out[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][r];
}

PAIR((Sizes{1 << 21, 1 << 21, 1024}), (Call{before, dim3(32, 32), dim3(32, 8)}), (Call{after, dim3(32, 32), dim3(32, 8)}))
