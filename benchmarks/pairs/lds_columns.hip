// Padding: columns of an array in LDS with rows of 32, then of 33.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    __shared__ float tile[64 * 32];
    for (int k = threadIdx.x; k < 2048; k += 64) tile[k] = in[(blockIdx.x * 2048 + k) & (n - 1)];
    __syncthreads();
    float sum = 0;
    for (int round = 0; round < 4; ++round)
        for (int k = 0; k < 32; ++k) sum += tile[threadIdx.x * 32 + ((k + round) & 31)];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float tile[64 * 33];
    for (int k = threadIdx.x; k < 2048; k += 64) tile[k / 32 * 33 + k % 32] = in[(blockIdx.x * 2048 + k) & (n - 1)];
    __syncthreads();
    float sum = 0;
    for (int round = 0; round < 4; ++round)
        for (int k = 0; k < 32; ++k) sum += tile[threadIdx.x * 33 + ((k + round) & 31)];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

PAIR((Sizes{1 << 20, 1 << 17, 1 << 20}), (Call{before, dim3(2048), dim3(64)}), (Call{after, dim3(2048), dim3(64)}))
