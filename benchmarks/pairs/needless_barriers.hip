// Barriers: one after each of 64 steps that need none, then none.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 64; ++k) {
        x = x * 0.5f + in[(i + k * 256) & (n - 1)];
        __syncthreads();
    }
    out[i] = x;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 64; ++k) x = x * 0.5f + in[(i + k * 256) & (n - 1)];
    out[i] = x;
}

PAIR((Sizes{1 << 20, 1 << 18, 1 << 20}), (Call{before, dim3(1024), dim3(256)}), (Call{after, dim3(1024), dim3(256)}))
