// out[i] = max(in[i], 0). Argument: number of elements.
#include "timing.hpp"

__global__ void relu(const float* in, float* out, int n) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) out[i] = in[i] > 0 ? in[i] : 0;
}

int main(int argc, char** argv) {
    const long n = argument(argc, argv, 1, 1 << 20);
    auto *in = device_array<float>(n), *out = device_array<float>(n);
    time_launch([&] { relu<<<(n + 255) / 256, 256>>>(in, out, static_cast<int>(n)); });
}
