// a[i] = b[i] + c[i]. Argument: number of elements.
#include "timing.hpp"

__global__ void vectoradd(float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, int width,
                          int height) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < width * height) a[i] = b[i] + c[i];
}

int main(int argc, char** argv) {
    const long n = argument(argc, argv, 1, 1 << 20);
    auto *a = device_array<float>(n), *b = device_array<float>(n), *c = device_array<float>(n);
    time_launch([&] { vectoradd<<<(n + 255) / 256, 256>>>(a, b, c, static_cast<int>(n), 1); });
}
