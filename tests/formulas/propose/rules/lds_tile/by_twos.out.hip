// facts: {"launches": [[[256, 256, 1], [16, 16, 1], {"width": 64}]]}
#include <hip/hip_runtime.h>

__global__ void product(const double* __restrict__ left, const double* __restrict__ right, double* out, int width) {
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    double sum = 0;
    for (int layer = 0; layer < 3; layer++) {
        double part = 0;
        // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
        constexpr int tile_k = 16;
        __shared__ double left_tile[tile_k][16 + 1];  // padded: a column lies in different banks
        __shared__ double right_tile[tile_k][16];
        __shared__ double left_tile_2[tile_k][16 + 1];  // padded: a column lies in different banks
        __shared__ double right_tile_2[tile_k][16];
        int first_k = 0;
        if (blockDim.x == 16 && blockDim.y == 16 && blockDim.z == 1) {
            for (; first_k + (tile_k - 1) * 2 <= width - 2; first_k += tile_k * 2) {
                const int left_k = first_k + threadIdx.x * 2;
                const int left_from = y * width + left_k;
                left_tile[threadIdx.x][threadIdx.y] = left[left_from];
                const int right_k = first_k + threadIdx.y * 2;
                right_tile[threadIdx.y][threadIdx.x] = right[right_k * 256 + x];
                const int left_from_2 = y * width + left_k;
                left_tile_2[threadIdx.x][threadIdx.y] = left[left_from_2 + 1];
                right_tile_2[threadIdx.y][threadIdx.x] = right[(right_k + 1) * 256 + x];
                __syncthreads();
                #pragma unroll 8
                for (int step = 0; step < tile_k; ++step) {
                    const int k = first_k + step * 2;
                    part += left_tile[step][threadIdx.y] * right_tile[step][threadIdx.x];
                    part -= left_tile_2[step][threadIdx.y] * right_tile_2[step][threadIdx.x] * k;
                }
                __syncthreads();
            }
        }
        for (int k = first_k; k <= width - 2; k += 2) {
            const int from = y * width + k;
            part += left[from] * right[k * 256 + x];
            part -= left[from + 1] * right[(k + 1) * 256 + x] * k;
        }
        sum = sum * part + part;
    }
    out[y * 256 + x] = sum;
}
