// Floating-point atomics on values that add up exactly in any order: float and double, global memory and LDS.
#include "check.hpp"

__global__ void add(float* f, double* d, const int* values, int n) {
    __shared__ float local_f[8];
    __shared__ double local_d[8];
    if (threadIdx.x < 8) local_f[threadIdx.x] = 0, local_d[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local_f[i % 8], static_cast<float>(values[i]) * 0.5F);
        atomicAdd(&local_d[i % 8], values[i] * 0.125);
        atomicAdd(&f[8 + i % 8], static_cast<float>(values[i]));
        unsafeAtomicAdd(&d[8 + i % 8], values[i] * 0.25);
        unsafeAtomicAdd(&f[16 + i % 8], static_cast<float>(-values[i]));
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        atomicAdd(&f[threadIdx.x], local_f[threadIdx.x]);
        atomicAdd(&d[threadIdx.x], local_d[threadIdx.x]);
    }
}
int main() {
    const int n = 3001;
    const auto values = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i) % 401) - 200; });
    Device<int> v(values);
    Device<float> f(std::vector<float>(24, 0));
    Device<double> d(std::vector<double>(16, 0));
    add<<<6, 192>>>(f.data, d.data, v.data, n);
    long long sum[8] = {};
    for (int i = 0; i < n; ++i) sum[i % 8] += values[i];
    const auto gf = f.read();
    const auto gd = d.read();
    for (int i = 0; i < 8; ++i) {
        expect("lds float", i, gf[i], static_cast<float>(sum[i]) * 0.5F);
        expect("float", i, gf[8 + i], static_cast<float>(sum[i]));
        expect("unsafe float", i, gf[16 + i], static_cast<float>(-sum[i]));
        expect("lds double", i, gd[i], static_cast<double>(sum[i]) * 0.125);
        expect("double", i, gd[8 + i], static_cast<double>(sum[i]) * 0.25);
    }
    return verdict();
}
