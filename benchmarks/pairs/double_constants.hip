// Arithmetic: constants of double precision in a kernel of floats, then of single.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 64; ++k) x = x * 0.9 + 0.1;
    out[i] = x;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    for (int k = 0; k < 64; ++k) x = x * 0.9f + 0.1f;
    out[i] = x;
}

PAIR((Sizes{1 << 20, 1 << 20, 0}), (Call{before, dim3(4096), dim3(256)}), (Call{after, dim3(4096), dim3(256)}))
