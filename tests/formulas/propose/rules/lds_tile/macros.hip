// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"K": 512}]], "disjoint": ["A", "B", "C"]}
#include <hip/hip_runtime.h>
#define N 512
#define IDX(i, j, n) ((i) * (n) + (j))
__global__ void through_macros(const float* A, const float* B, float* C, int K) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N && j < N) {
        float acc = 0;
        for (int k = 0; k < K; k++) {
            acc += A[IDX(i, k, K)] * B[IDX(k, j, N)];
        }
        C[IDX(i, j, N)] = acc;
    }
}
