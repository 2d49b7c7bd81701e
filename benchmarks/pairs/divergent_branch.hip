// Divergence: neighbouring threads take two ways, then whole groups of 64 do.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x & 1)
        for (int k = 0; k < 64; ++k) x = sqrtf(x + 1.0f);
    else
        for (int k = 0; k < 64; ++k) x = x * 0.75f + sqrtf(x) * 0.25f;
    out[i] = x * 0;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x & 64)
        for (int k = 0; k < 64; ++k) x = sqrtf(x + 1.0f);
    else
        for (int k = 0; k < 64; ++k) x = x * 0.75f + sqrtf(x) * 0.25f;
    out[i] = x * 0;
}

PAIR((Sizes{1 << 19, 1 << 19, 0}), (Call{before, dim3(2048), dim3(256)}), (Call{after, dim3(2048), dim3(256)}))
