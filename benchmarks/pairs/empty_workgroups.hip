// Empty workgroups: 20,000 for a copy of 65,536 elements, then 256.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2;
}

PAIR((Sizes{1 << 16, 1 << 16, 1 << 16}), (Call{before, dim3(20000), dim3(256)}), (Call{after, dim3(256), dim3(256)}))
