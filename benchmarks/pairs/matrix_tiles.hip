// LDS staging: a matrix product from global memory, then from tiles of 16 x 16.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += in[y * n + k] * in[n * n + k * n + x];
    out[y * n + x] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float a[16][17], b[16][17];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        a[threadIdx.y][threadIdx.x] = in[y * n + tile + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = in[n * n + (tile + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    out[y * n + x] = sum;
}

PAIR((Sizes{1 << 19, 1 << 18, 512}), (Call{before, dim3(32, 32), dim3(16, 16)}), (Call{after, dim3(32, 32), dim3(16, 16)}))
