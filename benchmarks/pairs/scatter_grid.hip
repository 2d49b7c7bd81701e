// Empty workgroups: 10,000 workgroups of 1,024 for 238,072 atomic additions, then as many as there is work for.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[static_cast<unsigned>(index[i]) % 1858u], in[i]);
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[static_cast<unsigned>(index[i]) % 1858u], in[i]);
}

PAIR((Sizes{238072, 1858, 238072}), (Call{before, dim3(10000), dim3(1024)}), (Call{after, dim3(233), dim3(1024)}))
