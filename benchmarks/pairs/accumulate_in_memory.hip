// Registers: a sum of 32 terms is kept in global memory, then in a register.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 32; ++k) {
        volatile float* to = out + i;
        *to = *to + in[(i + k * 1024) & (n - 1)];
    }
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = out[i];
    for (int k = 0; k < 32; ++k) sum += in[(i + k * 1024) & (n - 1)];
    out[i] = sum;
}

PAIR((Sizes{1 << 20, 1 << 17, 1 << 20}), (Call{before, dim3(512), dim3(256)}), (Call{after, dim3(512), dim3(256)}))
