// tmp = A x, then y = transpose(A) tmp; both sums are kept in memory. Argument: n.
#include "timing.hpp"

__global__ void atax_rows(float* a, float* x, float* tmp, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = 0; j < n; ++j) tmp[i] += a[i * n + j] * x[j];
}

__global__ void atax_columns(float* a, float* y, float* tmp, int n) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n)
        for (int i = 0; i < n; ++i) y[j] += a[i * n + j] * tmp[i];
}

int main(int argc, char** argv) {
    const int n = static_cast<int>(argument(argc, argv, 1, 256));
    auto *a = device_array<float>(static_cast<size_t>(n) * n), *x = device_array<float>(n), *y = device_array<float>(n),
         *tmp = device_array<float>(n);
    time_launch([&] {
        atax_rows<<<(n + 255) / 256, 256>>>(a, x, tmp, n);
        atax_columns<<<(n + 255) / 256, 256>>>(a, y, tmp, n);
    });
}
