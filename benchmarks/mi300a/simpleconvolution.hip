// 2-D convolution of a padded integer image with a float mask. Arguments: n, mask width.
#include "timing.hpp"

__global__ void simpleconvolution(unsigned* input, float* mask, int* output, unsigned width, unsigned height, unsigned mask_width,
                                  unsigned mask_height, unsigned padded_width) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned x = id % width, y = id / width;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (unsigned row = y, m = 0; row < y + mask_height; ++row, ++m)
        for (unsigned column = x, k = 0; column < x + mask_width; ++column, ++k)
            sum += static_cast<float>(input[row * padded_width + column]) * mask[m * mask_width + k];
    output[id] = static_cast<int>(sum + 0.5f);
}

int main(int argc, char** argv) {
    const int n = static_cast<int>(argument(argc, argv, 1, 256)), mask_width = static_cast<int>(argument(argc, argv, 2, 3));
    const int padded = n + mask_width - 1;
    auto* input = device_array<unsigned>(static_cast<size_t>(padded) * padded);
    auto* mask = device_array<float>(mask_width * mask_width);
    auto* output = device_array<int>(static_cast<size_t>(n) * n);
    const auto size = static_cast<unsigned>(n), width = static_cast<unsigned>(mask_width);
    time_launch([&] {
        simpleconvolution<<<n * n / 64, 64>>>(input, mask, output, size, size, width, width, static_cast<unsigned>(padded));
    });
}
