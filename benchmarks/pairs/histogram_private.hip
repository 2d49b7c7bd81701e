// Privatised atomics: 256 bins in global memory, then in the LDS of each workgroup.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = i; k < n; k += gridDim.x * blockDim.x) atomicAdd(&out[index[k] & 255], 1.0f);
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    __shared__ float bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int k = blockIdx.x * 256 + threadIdx.x; k < n; k += gridDim.x * 256) atomicAdd(&bins[index[k] & 255], 1.0f);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

PAIR((Sizes{1 << 20, 256, 1 << 20}), (Call{before, dim3(512), dim3(256)}), (Call{after, dim3(512), dim3(256)}))
