// One dynamic LDS block cut into arrays of several types, its size given at the launch, beside a static array.
#include "check.hpp"

__global__ void carve(double* out, int n) {
    extern __shared__ char block[];
    __shared__ int order[64];
    auto* wide = reinterpret_cast<double*>(block);
    auto* whole = reinterpret_cast<int*>(wide + n);
    auto* small = reinterpret_cast<unsigned short*>(whole + n);
    auto* bytes = reinterpret_cast<unsigned char*>(small + n);
    if (threadIdx.x < 64) order[threadIdx.x] = 63 - static_cast<int>(threadIdx.x);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        wide[i] = i * 0.5;
        whole[i] = -i;
        small[i] = static_cast<unsigned short>(i * 3);
        bytes[i] = static_cast<unsigned char>(i);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int j = n - 1 - i;
        out[blockIdx.x * n + i] = wide[j] + whole[j] * 2 + small[j] * 4 + bytes[j] * 8 + order[i % 64];
    }
}
int main() {
    for (const int n : {1, 33, 500, 3000}) {
        Device<double> out(static_cast<std::size_t>(n) * 3);
        carve<<<3, 128, n * 15>>>(out.data, n);
        expect_all("value", out.read(), [&](std::size_t k) {
            const int i = static_cast<int>(k) % n, j = n - 1 - i;
            return j * 0.5 - j * 2 + static_cast<unsigned short>(j * 3) * 4 + static_cast<unsigned char>(j) * 8 + 63 - i % 64;
        });
    }
    return verdict();
}
