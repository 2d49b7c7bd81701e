// Locality: loads from random places, then the same number of loads from neighbouring ones in a random order of blocks.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += in[(index[i] + k * 7919) & (n - 1)] * 0;
    out[i] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int block = index[i & ~63];
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += in[(block + k * 7936 + (threadIdx.x & 63)) & (n - 1)] * 0;
    out[i] = sum;
}

PAIR((Sizes{1 << 22, 1 << 20, 1 << 22}), (Call{before, dim3(4096), dim3(256)}), (Call{after, dim3(4096), dim3(256)}))
