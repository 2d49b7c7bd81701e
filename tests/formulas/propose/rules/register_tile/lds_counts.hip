// facts: {"launches": [[[4194304, 1, 1], [256, 1, 1], {"n": 4194304}]]}
#include <hip/hip_runtime.h>

__global__ void counts(const float* in, const float* limits, unsigned* out, int n) {
    __shared__ unsigned bins[64];
    __shared__ float limit[64];
    if (threadIdx.x < 64) {
        bins[threadIdx.x] = 0;
        limit[threadIdx.x] = limits[threadIdx.x];
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bin = 0;
    for (int k = 0; k < 64; ++k) {
        if (in[min(i, n - 1)] > limit[k]) bin = k;
    }
    if (i < n) atomicAdd(bins + bin, 1u);
    __syncthreads();
    if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}
