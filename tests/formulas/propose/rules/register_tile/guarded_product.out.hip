// facts: {"launches": [[[1024, 1024, 1], [16, 16, 1], {"m": 1000, "n": 1000, "k": 512}]]}
#include <hip/hip_runtime.h>

__global__ void product(const float* a, const float* b, float* c, int m, int n, int k, float beta) {
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
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col[outputs];
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
        col[t] = block_x[t] * blockDim.x + threadIdx.x;
    }
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
        inside[t] = inside[t] && col[t] < n;
        if (!inside[t]) col[t] = col[0];  // repeats the first one, stores nothing
    }
    if (row < m && col[0] < n) {
        float sum[outputs];
        #pragma unroll
        for (unsigned t = 0; t < outputs; ++t) {
            sum[t] = 0.0f;  // of one element
        }
        for (int i = 0; i < k; ++i) {
            #pragma unroll
            for (unsigned t = 0; t < outputs; ++t) {
                sum[t] += a[row * k + i] * b[i * n + col[t]];
            }
        }
        #pragma unroll
        for (unsigned t = 0; t < outputs; ++t) {
            if (inside[t]) c[row * n + col[t]] = sum[t] + beta * c[row * n + col[t]];
        }
    }
}
