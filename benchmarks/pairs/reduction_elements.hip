// Grid-stride: a workgroup reduces 256 elements, then 4,096.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&out[blockIdx.x / 16], part[0]);
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += in[blockIdx.x * 4096 + k * 256 + threadIdx.x];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

PAIR((Sizes{1 << 22, 1 << 10, 0}), (Call{before, dim3(16384), dim3(256)}), (Call{after, dim3(1024), dim3(256)}))
