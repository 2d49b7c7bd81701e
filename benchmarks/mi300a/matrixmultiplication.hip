// Matrix product with a 4x4 block of the result per work-item; rows of A are staged in memory that all blocks share, so
// the sums depend on the order of blocks, as in the measured kernel. Argument: n, a multiple of 32.
#include "timing.hpp"

extern "C" __global__ void matrixmultiplication(float4* a, float4* b, float4* c, unsigned width, float4* staged) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const unsigned here = threadIdx.x + blockDim.x * (threadIdx.y * 4);
    float4 sum[4] = {};
    const unsigned row_of_a = y * 4 * width;
    for (unsigned step = 0; step < width / blockDim.x; ++step) {
        const unsigned from = row_of_a + step * blockDim.x + threadIdx.x;
        for (unsigned row = 0; row < 4; ++row) staged[here + row * blockDim.x] = a[from + row * width];
        __syncthreads();
        const unsigned row_of_b = step * blockDim.x * 4;
        for (unsigned j = 0; j < blockDim.x * 4; j += 4) {
            float4 left[4], right[4];
            for (unsigned row = 0; row < 4; ++row) left[row] = staged[(j >> 2) + (threadIdx.y * 4 + row) * blockDim.x];
            for (unsigned row = 0; row < 4; ++row) right[row] = b[x + (row_of_b + j + row) * width];
            for (unsigned row = 0; row < 4; ++row) {
                sum[row].x += left[row].x * right[0].x + left[row].y * right[1].x + left[row].z * right[2].x + left[row].w * right[3].x;
                sum[row].y += left[row].x * right[0].y + left[row].y * right[1].y + left[row].z * right[2].y + left[row].w * right[3].y;
                sum[row].z += left[row].x * right[0].z + left[row].y * right[1].z + left[row].z * right[2].z + left[row].w * right[3].z;
                sum[row].w += left[row].x * right[0].w + left[row].y * right[1].w + left[row].z * right[2].w + left[row].w * right[3].w;
            }
        }
        __syncthreads();
    }
    for (unsigned row = 0; row < 4; ++row) c[x + (y * 4 + row) * width] = sum[row];
}

int main(int argc, char** argv) {
    const long n = argument(argc, argv, 1, 128);
    auto* a = device_array<float4>(static_cast<size_t>(n) * n / 4);
    auto* b = device_array<float4>(static_cast<size_t>(n) * n / 4);
    auto* c = device_array<float4>(static_cast<size_t>(n) * n / 4);
    auto* staged = device_array<float4>(8 * 32);
    const dim3 blocks(static_cast<unsigned>(n / 32), static_cast<unsigned>(n / 32)), threads(8, 8);
    time_launch([&] { matrixmultiplication<<<blocks, threads>>>(a, b, c, static_cast<unsigned>(n / 4), staged); });
}
