// LDS staging: a table of 256 entries is looked up at random in global memory, then in LDS.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    int at = index[i];
    for (int k = 0; k < 16; ++k) {
        sum += in[at & 255];
        at = (at >> 1) + k;
    }
    out[i] = sum;
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float table[256];
    table[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0;
    int at = index[i];
    for (int k = 0; k < 16; ++k) {
        sum += table[at & 255];
        at = (at >> 1) + k;
    }
    out[i] = sum;
}

PAIR((Sizes{1 << 20, 1 << 20, 1 << 20}), (Call{before, dim3(4096), dim3(256)}), (Call{after, dim3(4096), dim3(256)}))
