// Privatised atomics: every thread adds to one of 16 sums, then one of each workgroup does.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[blockIdx.x & 15], in[i]);
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&out[blockIdx.x & 15], part[0]);
}

PAIR((Sizes{1 << 20, 16, 0}), (Call{before, dim3(4096), dim3(256)}), (Call{after, dim3(4096), dim3(256)}))
