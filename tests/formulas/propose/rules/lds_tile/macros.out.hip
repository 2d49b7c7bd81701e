// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"K": 512}]], "disjoint": ["A", "B", "C"]}
#include <hip/hip_runtime.h>
#define N 512
#define IDX(i, j, n) ((i) * (n) + (j))
__global__ void through_macros(const float* A, const float* B, float* C, int K) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0;
    // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
    constexpr int tile_k = 16;
    __shared__ float A_tile[tile_k][16 + 1];  // padded: a column lies in different banks
    __shared__ float B_tile[tile_k][16];
    int first_k = 0;
    if (blockDim.x == 16 && blockDim.y == 16 && blockDim.z == 1 && N > 0) {
        for (; first_k + tile_k <= K; first_k += tile_k) {
            const int A_k = first_k + threadIdx.x;
            A_tile[threadIdx.x][threadIdx.y] = i < N ? A[IDX(i, A_k, K)] : 0;
            const int B_k = first_k + threadIdx.y;
            B_tile[threadIdx.y][threadIdx.x] = j < N ? B[IDX(B_k, j, N)] : 0;
            __syncthreads();
            #pragma unroll
            for (int step = 0; step < tile_k; ++step) {
                acc += A_tile[step][threadIdx.y] * B_tile[step][threadIdx.x];
            }
            __syncthreads();
        }
    }
    if (i < N && j < N) {
        for (int k = first_k; k < K; k++) {
            acc += A[IDX(i, k, K)] * B[IDX(k, j, N)];
        }
        C[IDX(i, j, N)] = acc;
    }
}
