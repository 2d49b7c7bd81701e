// facts: {"launches": [[[1024, 1024, 1], [16, 16, 1], {"m": 1000, "n": 1000, "k": 512}]]}
#include <hip/hip_runtime.h>

__global__ void product(const float* a, const float* b, float* c, int m, int n, int k, float beta) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;  // of one element
        for (int i = 0; i < k; ++i) {
            sum += a[row * k + i] * b[i * n + col];
        }
        c[row * n + col] = sum + beta * c[row * n + col];
    }
}
