// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"K": 512}]], "disjoint": ["A", "B", "C"]}
#include <hip/hip_runtime.h>
#define N 512
__device__ __forceinline__ int index(int i, int j, int n) { return i * n + j; }
__global__ void one(const float* A, const float* B, float* C, int K) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float acc;
    int k;
    acc = 0.f;
    const float* a = &A[i * K];
    const float* b = B + j;
    // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
    constexpr int tile_k = 16;
    __shared__ float A_tile[tile_k][16 + 1];  // padded: a column lies in different banks
    __shared__ float B_tile[tile_k][16];
    int first_k = 0;
    if (blockDim.x == 16 && blockDim.y == 16 && blockDim.z == 1 && N > 0) {
        for (; first_k + tile_k <= K; first_k += tile_k) {
            const int A_k = first_k + threadIdx.x;
            A_tile[threadIdx.x][threadIdx.y] = i < N ? a[A_k] : 0;
            const int B_k = first_k + threadIdx.y;
            B_tile[threadIdx.y][threadIdx.x] = j < N ? b[B_k * N] : 0;
            __syncthreads();
            #pragma unroll
            for (int step = 0; step < tile_k; ++step) {
                acc = acc + A_tile[step][threadIdx.y] * B_tile[step][threadIdx.x];
            }
            __syncthreads();
        }
    }
    if (i < N && j < N) {
        for (k = first_k; k < K; ++k) {
            acc = acc + a[k] * b[k * N];
        }
        C[index(i, j, N)] = acc;
    }
}
