// Occupancy: a workgroup of 64 asks for 32 KiB of LDS, then for 256 bytes.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    __shared__ float room[8192];
    room[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += in[(index[(blockIdx.x * 64 + threadIdx.x + k * 4096) & (n - 1)]) & (n - 1)];
    out[blockIdx.x * 64 + threadIdx.x] = sum + room[threadIdx.x ^ 1];
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float room[64];
    room[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += in[(index[(blockIdx.x * 64 + threadIdx.x + k * 4096) & (n - 1)]) & (n - 1)];
    out[blockIdx.x * 64 + threadIdx.x] = sum + room[threadIdx.x ^ 1];
}

PAIR((Sizes{1 << 20, 1 << 18, 1 << 20}), (Call{before, dim3(4096), dim3(64)}), (Call{after, dim3(4096), dim3(64)}))
