// Launch shape: workgroups of 32, then of 256.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2;
}

PAIR((Sizes{1 << 21, 1 << 21, 1 << 21}), (Call{before, dim3(65536), dim3(32)}), (Call{after, dim3(8192), dim3(256)}))
