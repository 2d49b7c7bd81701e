// facts: {"launches": [[[4194304, 1, 1], [256, 1, 1], {"n": 4194304}]]}
#include <hip/hip_runtime.h>

__global__ void counts(const float* in, const float* limits, unsigned* out, int n) {
    // Each thread computes the outputs of 4 workgroups along x; the last ones have none.
    constexpr unsigned outputs = 4;
    if (blockIdx.x >= (gridDim.x + outputs - 1) / outputs) return;
    unsigned block_x[outputs];
    bool inside[outputs];
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
        inside[t] = blockIdx.x * outputs + t < gridDim.x;
        block_x[t] = blockIdx.x * outputs + (inside[t] ? t : 0);
    }
    __shared__ unsigned bins[outputs][64];
    __shared__ float limit[64];
    if (threadIdx.x < 64) {
        #pragma unroll
        for (unsigned t = 0; t < outputs; ++t) {
            bins[t][threadIdx.x] = 0;
        }
        limit[threadIdx.x] = limits[threadIdx.x];
    }
    __syncthreads();
    int i[outputs];
    int bin[outputs];
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
        i[t] = block_x[t] * blockDim.x + threadIdx.x;
        bin[t] = 0;
    }
    for (int k = 0; k < 64; ++k) {
        #pragma unroll
        for (unsigned t = 0; t < outputs; ++t) {
            if (in[min(i[t], n - 1)] > limit[k]) bin[t] = k;
        }
    }
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
        if (inside[t]) if (i[t] < n) atomicAdd(bins[t] + bin[t], 1u);
    }
    __syncthreads();
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
        if (inside[t]) if (threadIdx.x < 64) out[block_x[t] * 64 + threadIdx.x] = bins[t][threadIdx.x];
    }
}
