// Coalescing: a store with a stride of 32 elements, then after an exchange in LDS.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int base = blockIdx.x * 1024;
    for (int k = 0; k < 4; ++k) {
        const int t = threadIdx.x + k * 256;
        out[base + (t % 32) * 32 + t / 32] = in[base + t];
    }
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float tile[32 * 33];
    const int base = blockIdx.x * 1024;
    for (int k = 0; k < 4; ++k) {
        const int t = threadIdx.x + k * 256;
        tile[(t % 32) * 33 + t / 32] = in[base + t];
    }
    __syncthreads();
    for (int k = 0; k < 4; ++k) {
        const int t = threadIdx.x + k * 256;
        out[base + t] = tile[(t / 32) * 33 + t % 32];
    }
}

PAIR((Sizes{1 << 22, 1 << 22, 0}), (Call{before, dim3(4096), dim3(256)}), (Call{after, dim3(4096), dim3(256)}))
