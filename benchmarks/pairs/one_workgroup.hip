// Occupancy: one workgroup sums up an array, then 256 do.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    __shared__ float part[1024];
    float sum = 0;
    for (int k = threadIdx.x; k < n; k += 1024) sum += in[k];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = part[0];
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float part[1024];
    part[threadIdx.x] = in[blockIdx.x * 1024 + threadIdx.x];
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

PAIR((Sizes{1 << 18, 1, 1 << 18}), (Call{before, dim3(1), dim3(1024)}), (Call{after, dim3(256), dim3(1024)}))
