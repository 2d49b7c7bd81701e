// Columns of an image's fields for a convolution as a matrix product, one column per work-item, stride 1, no padding.
// Arguments: image width (and height), mask width.
#include "timing.hpp"

__global__ void im2col(const float* input, float* output, uint2 image, uint2 mask, uint2 stride, uint2 padding,
                       uint2 dilation, unsigned channels, unsigned batch) {
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned field_width = (image.x + 2 * padding.x - dilation.x * (mask.x - 1) - 1) / stride.x + 1;
    const unsigned field_height = (image.y + 2 * padding.y - dilation.y * (mask.y - 1) - 1) / stride.y + 1;
    const unsigned fields = field_width * field_height, columns = fields * batch;
    if (column >= columns) return;
    const unsigned picture = column / fields, field = column % fields;
    const unsigned field_x = field % field_width, field_y = field / field_width;
    const unsigned mask_size = mask.x * mask.y;
    for (unsigned i = 0; i < mask_size * channels; ++i) {
        const unsigned channel = i / mask_size;
        const unsigned mask_y = i % mask_size / mask.x, mask_x = i % mask.x;
        const int x = static_cast<int>(field_x * stride.x + mask_x * dilation.x) - static_cast<int>(padding.x);
        const int y = static_cast<int>(field_y * stride.y + mask_y * dilation.y) - static_cast<int>(padding.y);
        float value = 0;
        if (x >= 0 && x < static_cast<int>(image.x) && y >= 0 && y < static_cast<int>(image.y))
            value = input[((picture * channels + channel) * image.y + static_cast<unsigned>(y)) * image.x + static_cast<unsigned>(x)];
        output[i * columns + column] = value;
    }
}

int main(int argc, char** argv) {
    const auto n = static_cast<unsigned>(argument(argc, argv, 1, 64)), mask = static_cast<unsigned>(argument(argc, argv, 2, 3));
    const unsigned field = n - mask + 1, columns = field * field;
    auto* input = device_array<float>(static_cast<size_t>(n) * n);
    auto* output = device_array<float>(static_cast<size_t>(columns) * mask * mask);
    time_launch([&] {
        im2col<<<(columns + 255) / 256, 256>>>(input, output, {n, n}, {mask, mask}, {1, 1}, {0, 0}, {1, 1}, 1, 1);
    });
}
