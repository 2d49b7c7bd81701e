// facts: {"launches": [[[1024, 1024, 1], [16, 16, 1], {"n": 1024}]]}
#include <hip/hip_runtime.h>
#define TILE 16

__global__ void product(const float* a, const float* b, float* c, int n) {
    // Each thread computes the outputs of 4 workgroups along x; the last ones have none.
    constexpr unsigned outputs = 4;
    if (blockIdx.x >= (gridDim.x + outputs - 1) / outputs) return;
    unsigned block_x[outputs];
    bool inside[outputs];
    #pragma unroll
    for (unsigned u = 0; u < outputs; ++u) {
        inside[u] = blockIdx.x * outputs + u < gridDim.x;
        block_x[u] = blockIdx.x * outputs + (inside[u] ? u : 0);
    }
    __shared__ float rows[TILE][TILE];
    __shared__ float columns[outputs][TILE][TILE];
    const unsigned row = blockIdx.y * TILE + threadIdx.y;
    unsigned col[outputs];
    float sum[outputs];
    #pragma unroll
    for (unsigned u = 0; u < outputs; ++u) {
        col[u] = block_x[u] * TILE + threadIdx.x;
        sum[u] = 0.0f;
    }
    for (int t = 0; t < n / TILE; ++t) {
        rows[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        #pragma unroll
        for (unsigned u = 0; u < outputs; ++u) {
            columns[u][threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + col[u]];
        }
        __syncthreads();
        for (int i = 0; i < TILE; ++i) {
            #pragma unroll
            for (unsigned u = 0; u < outputs; ++u) {
                sum[u] += rows[threadIdx.y][i] * columns[u][i][threadIdx.x];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (unsigned u = 0; u < outputs; ++u) {
        if (inside[u]) c[row * n + col[u]] = sum[u];
    }
}
