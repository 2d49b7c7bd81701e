// Occupancy: 8,192 threads with 256 elements each, then 262,144 with 8.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = i; k < n; k += 8192) sum += in[k];
    atomicAdd(&out[i & 1023], sum);
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = i; k < n; k += 262144) sum += in[k];
    atomicAdd(&out[i & 1023], sum);
}

PAIR((Sizes{1 << 21, 1024, 1 << 21}), (Call{before, dim3(32), dim3(256)}), (Call{after, dim3(1024), dim3(256)}))
