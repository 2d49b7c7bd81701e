// Finite impulse response filter with a history buffer. Arguments: samples, taps.
#include "timing.hpp"

__global__ void fir(float* output, float* coefficients, float* input, float* history, unsigned taps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < taps; ++k) {
        if (i >= k)
            sum += coefficients[k] * input[i - k];
        else
            sum += coefficients[k] * history[taps - (k - i)];
    }
    output[i] = sum;
}

int main(int argc, char** argv) {
    const long n = argument(argc, argv, 1, 4096), taps = argument(argc, argv, 2, 16);
    auto *output = device_array<float>(n), *coefficients = device_array<float>(taps), *input = device_array<float>(n),
         *history = device_array<float>(taps + 1);
    time_launch([&] { fir<<<n / 256, 256>>>(output, coefficients, input, history, static_cast<unsigned>(taps)); });
}
