// LDS staging: a tiled matrix product with one result of a thread, then with four.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
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

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float a[32][33], b[32][33];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
    float sum00 = 0, sum01 = 0, sum10 = 0, sum11 = 0;
    for (int tile = 0; tile < n; tile += 32) {
        for (int r = 0; r < 32; r += 16)
            for (int s = 0; s < 32; s += 16) {
                a[ty + r][tx + s] = in[(y + r) * n + tile + tx + s];
                b[ty + r][tx + s] = in[n * n + (tile + ty + r) * n + x + s];
            }
        __syncthreads();
        for (int k = 0; k < 32; ++k) {
            const float a0 = a[ty][k], a1 = a[ty + 16][k], b0 = b[k][tx], b1 = b[k][tx + 16];
            sum00 += a0 * b0;
            sum01 += a0 * b1;
            sum10 += a1 * b0;
            sum11 += a1 * b1;
        }
        __syncthreads();
    }
    out[y * n + x] = sum00;
    out[y * n + x + 16] = sum01;
    out[(y + 16) * n + x] = sum10;
    out[(y + 16) * n + x + 16] = sum11;
}

PAIR((Sizes{1 << 21, 1 << 20, 1024}), (Call{before, dim3(64, 64), dim3(16, 16)}), (Call{after, dim3(32, 32), dim3(16, 16)}))
