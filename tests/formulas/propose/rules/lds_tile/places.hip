// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"K": 512}]], "disjoint": ["A", "B", "C"]}
#include <hip/hip_runtime.h>
#define N 512
__device__ __forceinline__ int index(int i, int j, int n) { return i * n + j; }
__global__ void one(const float* A, const float* B, float* C, int K) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float acc;
    if (i < N && j < N) {
        int k;
        acc = 0.f;
        const float* a = &A[i * K];
        const float* b = B + j;
        for (k = 0; k < K; ++k) {
            acc = acc + a[k] * b[k * N];
        }
        C[index(i, j, N)] = acc;
    }
}
