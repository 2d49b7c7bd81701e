// The Mandelbrot set in fixed point, exactly, and in doubles without fused operations: loops of very different lengths.
#include "check.hpp"

__host__ __device__ inline int fixed_point(long long cx, long long cy) {  // 24 fractional bits
    long long x = 0, y = 0;
    int n = 0;
    for (; n < 200 && x * x + y * y < (4LL << 48); ++n) {
        const long long t = ((x * x - y * y) >> 24) + cx;
        y = ((2 * x * y) >> 24) + cy;
        x = t;
    }
    return n;
}
__host__ __device__ inline int floating(double cx, double cy) {
#pragma clang fp contract(off)
    double x = 0, y = 0;
    int n = 0;
    for (; n < 200 && x * x + y * y < 4; ++n) {
        const double t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
    }
    return n;
}
__global__ void draw(int* exact, int* rounded, int w, int h) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    exact[y * w + x] = fixed_point((x * 3LL - 2LL * w) * (1 << 24) / w, (y * 2LL - h) * (1 << 24) / h);
    rounded[y * w + x] = floating(x * 3.0 / w - 2, y * 2.0 / h - 1);
}
int main() {
    const int w = 60, h = 37;
    Device<int> exact(w * h), rounded(w * h);
    draw<<<dim3(8, 5), dim3(8, 8)>>>(exact.data, rounded.data, w, h);
    expect_all("fixed", exact.read(), [&](std::size_t i) {
        const int x = static_cast<int>(i) % w, y = static_cast<int>(i) / w;
        return fixed_point((x * 3LL - 2LL * w) * (1 << 24) / w, (y * 2LL - h) * (1 << 24) / h);
    });
    expect_all("double", rounded.read(), [&](std::size_t i) {
        const int x = static_cast<int>(i) % w, y = static_cast<int>(i) / w;
        return floating(x * 3.0 / w - 2, y * 2.0 / h - 1);
    });
    return verdict();
}
