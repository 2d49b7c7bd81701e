// Arithmetic: a division by the same number in each of 32 steps, then a product with its inverse.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    const float d = in[0] + 1.0f;
    for (int k = 0; k < 32; ++k) x = x / d + 0.25f;
    out[i] = x;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    const float d = 1.0f / (in[0] + 1.0f);
    for (int k = 0; k < 32; ++k) x = x * d + 0.25f;
    out[i] = x;
}

PAIR((Sizes{1 << 20, 1 << 20, 0}), (Call{before, dim3(4096), dim3(256)}), (Call{after, dim3(4096), dim3(256)}))
