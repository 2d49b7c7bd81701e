// Grid-stride: every thread works out four weights for one element, then for 16.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float weight[4];
    for (int k = 0; k < 4; ++k) weight[k] = expf(in[k]) / (1.0f + logf(in[k + 4] + 1.0f));
    if (i < n) out[i] = ((in[i] * weight[0] + weight[1]) * in[i] + weight[2]) * in[i] + weight[3];
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    float weight[4];
    for (int k = 0; k < 4; ++k) weight[k] = expf(in[k]) / (1.0f + logf(in[k + 4] + 1.0f));
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = ((in[i] * weight[0] + weight[1]) * in[i] + weight[2]) * in[i] + weight[3];
}

PAIR((Sizes{1 << 22, 1 << 22, 1 << 22}), (Call{before, dim3(16384), dim3(256)}), (Call{after, dim3(1024), dim3(256)}))
