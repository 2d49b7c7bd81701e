// Coalescing: a thread takes 16 elements in a row, then every 256th of its workgroup.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int first = (blockIdx.x * 256 + threadIdx.x) * 16;
    for (int k = 0; k < 16; ++k) out[first + k] = in[first + k] * 2.0f + 1.0f;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int first = blockIdx.x * 4096 + threadIdx.x;
    for (int k = 0; k < 16; ++k) out[first + k * 256] = in[first + k * 256] * 2.0f + 1.0f;
}

PAIR((Sizes{1 << 22, 1 << 22, 1 << 22}), (Call{before, dim3(1024), dim3(256)}), (Call{after, dim3(1024), dim3(256)}))
