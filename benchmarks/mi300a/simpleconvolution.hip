// 2-D convolution of a padded integer image with a float mask. Arguments: n, mask width.
#include "timing.hpp"

__global__ void simpleconvolution(unsigned* input, float* mask, int* output, int width, int height, int mask_width,
                                  int mask_height, int padded_width) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = id % width, y = id / width;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int m = 0; m < mask_height; ++m)
        for (int k = 0; k < mask_width; ++k)
            sum += static_cast<float>(input[(y + m) * padded_width + x + k]) * mask[m * mask_width + k];
    output[id] = static_cast<int>(sum + 0.5f);
}

int main(int argc, char** argv) {
    const int n = static_cast<int>(argument(argc, argv, 1, 256)), mask_width = static_cast<int>(argument(argc, argv, 2, 3));
    const int padded = n + mask_width - 1;
    auto* input = device_array<unsigned>(static_cast<size_t>(padded) * padded);
    auto* mask = device_array<float>(mask_width * mask_width);
    auto* output = device_array<int>(static_cast<size_t>(n) * n);
    time_launch([&] { simpleconvolution<<<n * n / 64, 64>>>(input, mask, output, n, n, mask_width, mask_width, padded); });
}
