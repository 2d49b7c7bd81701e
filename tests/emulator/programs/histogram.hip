// Histograms three ways: global atomics, LDS bins merged at the end, and a private copy for each wave; 16-bit counters.
#include "check.hpp"

__global__ void direct(const unsigned char* in, unsigned* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1U);
}
__global__ void merged(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1U);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i] != 0) atomicAdd(&bins[i], local[i]);
}
__global__ void packed(const unsigned char* in, unsigned* bins, int n) {  // two 16-bit counters in a word, one set per wave
    __shared__ unsigned local[4][128];
    for (int i = threadIdx.x; i < 512; i += blockDim.x) local[i / 128][i % 128] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[threadIdx.x / 64][in[i] / 2], in[i] % 2 ? 0x10000U : 1U);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < 4; ++w) sum += local[w][i / 2] >> (i % 2 * 16) & 0xffffU;
        atomicAdd(&bins[i], sum);
    }
}
int main() {
    const int n = 20011;
    const auto in = generate(n, [](std::size_t i) { return static_cast<unsigned char>(mixed(i) % 256 & mixed(i + 7)); });
    std::vector<unsigned> want(256, 0);
    for (const unsigned char v : in) ++want[v];
    Device<unsigned char> d(in);
    const auto check = [&](const char* name, auto kernel) {
        Device<unsigned> bins(std::vector<unsigned>(256, 0));
        kernel<<<5, 256>>>(d.data, bins.data, n);
        expect_all(name, bins.read(), [&](std::size_t i) { return want[i]; });
    };
    check("direct", direct);
    check("merged", merged);
    check("packed", packed);
    return verdict();
}
