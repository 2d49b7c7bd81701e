// facts: {"launches": [[[1024, 1024, 1], [16, 16, 1], {"n": 1024}]]}
#include <hip/hip_runtime.h>
#define TILE 16

__global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float rows[TILE][TILE];
    __shared__ float columns[TILE][TILE];
    const unsigned row = blockIdx.y * TILE + threadIdx.y;
    const unsigned col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < n / TILE; ++t) {
        rows[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
        columns[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += rows[threadIdx.y][i] * columns[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
