// facts: {"launches": [[[1024, 1024, 1], [16, 16, 1], {"m": 1000, "n": 1000, "k": 512}]], "disjoint": ["a", "b", "c"]}
#include <hip/hip_runtime.h>

__global__ void product(const float* a, const float* b, float* c, int m, int n, int k, float beta) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = row < m && col < n ? beta * c[row * n + col] : 0;  // of one element
    // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
    constexpr int tile_i = 16;
    __shared__ float a_tile[tile_i][16 + 1];  // padded: a column lies in different banks
    __shared__ float b_tile[tile_i][16];
    int first_i = 0;
    if (blockDim.x == 16 && blockDim.y == 16 && blockDim.z == 1 && n > 0 && m > 0) {
        for (; first_i + tile_i <= k; first_i += tile_i) {
            const int a_i = first_i + threadIdx.x;
            a_tile[threadIdx.x][threadIdx.y] = row < m ? a[row * k + a_i] : 0;
            const int b_i = first_i + threadIdx.y;
            b_tile[threadIdx.y][threadIdx.x] = col < n ? b[b_i * n + col] : 0;
            __syncthreads();
            #pragma unroll
            for (int step = 0; step < tile_i; ++step) {
                sum += a_tile[step][threadIdx.y] * b_tile[step][threadIdx.x];
            }
            __syncthreads();
        }
    }
    if (row < m && col < n) {
        for (int i = first_i; i < k; ++i) {
            sum += a[row * k + i] * b[i * n + col];
        }
        c[row * n + col] = sum;
    }
}
