// Matrix product with a 4x4 block of the result per work-item; rows of A are staged in memory that all blocks share, so
// the sums depend on the order of blocks, as in the measured kernel. Argument: n, a multiple of 32.
#include "timing.hpp"

extern "C" __global__ void matrixmultiplication(float4* a, float4* b, float4* c, int width, float4* staged) {
    const int across = static_cast<int>(threadIdx.x), down = static_cast<int>(threadIdx.y), side = static_cast<int>(blockDim.x);
    const int x = static_cast<int>(blockDim.x * blockIdx.x + threadIdx.x), y = static_cast<int>(blockDim.y * blockIdx.y + threadIdx.y);
    const int row_of_b = static_cast<int>(gridDim.x * blockDim.x), row_of_a = width / 4;
    const int here = across + side * (down << 2);
    float4 sum[4] = {};
    for (int step = 0; step < row_of_a / side; ++step) {
        const int from = step * side + across + (down << 2) * row_of_a;
        for (int row = 0; row < 4; ++row) staged[here + row * side] = a[from + row * row_of_a];
        __syncthreads();
        const int column = x + ((step * side) << 2) * row_of_b;
        for (int j = 0; j < side * 4; j += 4) {
            float4 left[4], right[4];
            for (int row = 0; row < 4; ++row) left[row] = staged[(j >> 2) + (down * 4 + row) * side];
            for (int row = 0; row < 4; ++row) right[row] = b[column + (j + row) * row_of_b];
            for (int row = 0; row < 4; ++row) {
                sum[row].x += left[row].x * right[0].x + left[row].y * right[1].x + left[row].z * right[2].x + left[row].w * right[3].x;
                sum[row].y += left[row].x * right[0].y + left[row].y * right[1].y + left[row].z * right[2].y + left[row].w * right[3].y;
                sum[row].z += left[row].x * right[0].z + left[row].y * right[1].z + left[row].z * right[2].z + left[row].w * right[3].z;
                sum[row].w += left[row].x * right[0].w + left[row].y * right[1].w + left[row].z * right[2].w + left[row].w * right[3].w;
            }
        }
        __syncthreads();
    }
    for (int row = 0; row < 4; ++row) c[x + (y << 2) * row_of_b + row * row_of_b] = sum[row];
}

int main(int argc, char** argv) {
    const long n = argument(argc, argv, 1, 128);
    auto* a = device_array<float4>(static_cast<size_t>(n) * n / 4);
    auto* b = device_array<float4>(static_cast<size_t>(n) * n / 4);
    auto* c = device_array<float4>(static_cast<size_t>(n) * n / 4);
    auto* staged = device_array<float4>(8 * 32);
    const dim3 blocks(static_cast<unsigned>(n / 32), static_cast<unsigned>(n / 32)), threads(8, 8);
    time_launch([&] { matrixmultiplication<<<blocks, threads>>>(a, b, c, static_cast<int>(n), staged); });
}
