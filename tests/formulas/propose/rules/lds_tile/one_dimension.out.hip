// facts: {"launches": [[[16384, 64, 1], [256, 1, 1], {"n": 1000, "width": 96}]]}
#include <hip/hip_runtime.h>

#define SIDE 16

__global__ void nearest(const float* __restrict__ points, const float* __restrict__ centres, float* __restrict__ out,
                        unsigned n, unsigned width) {
    const unsigned lane = threadIdx.x;
    const unsigned centre = blockIdx.y * SIDE + lane / SIDE;
    const unsigned point = blockIdx.x * SIDE + lane % SIDE;
    float distance = 0.0f;
    // Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
    constexpr unsigned tile_d = 16;
    __shared__ float points_tile[tile_d][16 + 1];  // padded: a column lies in different banks
    __shared__ float centres_tile[tile_d][16 + 1];  // padded: a column lies in different banks
    unsigned first_d = 0;
    if (blockDim.x == 256 && blockDim.y == 1 && blockDim.z == 1) {
        for (; first_d + tile_d <= width; first_d += tile_d) {
            for (unsigned place = threadIdx.x; place < 16 * tile_d; place += 256) {
                const unsigned thread_x = place / tile_d, step = place % tile_d;
                const unsigned points_d = first_d + step;
                const unsigned points_lane = thread_x;
                const unsigned points_point = blockIdx.x * SIDE + points_lane % SIDE;
                points_tile[step][thread_x] = points_point < n ? points[points_point * width + points_d] : 0;
            }
            for (unsigned place = threadIdx.x; place < 16 * tile_d; place += 256) {
                const unsigned thread_x = place / tile_d, step = place % tile_d;
                const unsigned centres_d = first_d + step;
                const unsigned centres_lane = (thread_x * 16);
                const unsigned centres_centre = blockIdx.y * SIDE + centres_lane / SIDE;
                const unsigned centres_point = blockIdx.x * SIDE + centres_lane % SIDE;
                centres_tile[step][thread_x] = centres_point < n ? centres[centres_centre * width + centres_d] : 0;
            }
            __syncthreads();
            #pragma unroll
            for (unsigned step = 0; step < tile_d; ++step) {
                const float apart = points_tile[step][threadIdx.x % 16] - centres_tile[step][threadIdx.x / 16];
                distance = fmaf(apart, apart, distance);
            }
            __syncthreads();
        }
    }
    if (point < n) {
        for (unsigned d = first_d; d < width; ++d) {
            const float apart = points[point * width + d] - centres[centre * width + d];
            distance = fmaf(apart, apart, distance);
        }
        out[centre * n + point] = distance;
    }
}
