// Unrolling: a chain of dependent additions, then four of them.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, x = in[i];
#pragma unroll 4
    for (int k = 0; k < 1024; ++k) {
        sum = sum + x;
        x = x * 0.999f;
    }
    out[i] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float r = 0.999f, r2 = r * r, r4 = r2 * r2;
    float x0 = in[i], x1 = x0 * r, x2 = x0 * r2, x3 = x1 * r2, s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int k = 0; k < 256; ++k) {
        s0 += x0;
        s1 += x1;
        s2 += x2;
        s3 += x3;
        x0 *= r4;
        x1 *= r4;
        x2 *= r4;
        x3 *= r4;
    }
    out[i] = (s0 + s1) + (s2 + s3);
}

PAIR((Sizes{1 << 15, 1 << 15, 0}), (Call{before, dim3(128), dim3(256)}), (Call{after, dim3(128), dim3(256)}))
