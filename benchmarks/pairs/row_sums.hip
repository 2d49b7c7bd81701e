// Coalescing: a thread sums a row, then a workgroup does with neighbouring threads on neighbouring elements.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 256; ++k) sum += in[i * 256 + k];
    out[i] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

PAIR((Sizes{1 << 22, 1 << 14, 1 << 14}), (Call{before, dim3(64), dim3(256)}), (Call{after, dim3(16384), dim3(256)}))
