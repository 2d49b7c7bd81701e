// facts: {"launches": [[[16384, 64, 1], [256, 1, 1], {"n": 1000, "width": 96}]]}
#include <hip/hip_runtime.h>

#define SIDE 16

__global__ void nearest(const float* __restrict__ points, const float* __restrict__ centres, float* __restrict__ out,
                        unsigned n, unsigned width) {
    const unsigned lane = threadIdx.x;
    const unsigned centre = blockIdx.y * SIDE + lane / SIDE;
    const unsigned point = blockIdx.x * SIDE + lane % SIDE;
    if (point < n) {
        float distance = 0.0f;
        for (unsigned d = 0; d < width; ++d) {
            const float apart = points[point * width + d] - centres[centre * width + d];
            distance = fmaf(apart, apart, distance);
        }
        out[centre * n + point] = distance;
    }
}
