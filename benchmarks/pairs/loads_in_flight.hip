// Unrolling: one load is waited for at a time, then eight.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; ++k) sum += in[(i + k * 32768) & (n - 1)];
    out[i] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < 64; ++k) sum += in[(i + k * 32768) & (n - 1)];
    out[i] = sum;
}

PAIR((Sizes{1 << 21, 1 << 15, 1 << 21}), (Call{before, dim3(128), dim3(256)}), (Call{after, dim3(128), dim3(256)}))
