// A bitonic sort in LDS, a scan over workgroups with decoupled look-back, a histogram, a spin lock.
#include "check.hpp"

#include <algorithm>

__global__ void sort(int* data) {
    __shared__ int v[512];
    const int t = threadIdx.x;
    v[t] = data[blockIdx.x * 512 + t];
    v[t + 256] = data[blockIdx.x * 512 + t + 256];
    for (int k = 2; k <= 512; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            for (int i = t; i < 512; i += 256) {
                const int other = i ^ j;
                if (other > i && ((i & k) == 0) == (v[i] > v[other])) {
                    const int x = v[i];
                    v[i] = v[other];
                    v[other] = x;
                }
            }
        }
    }
    __syncthreads();
    data[blockIdx.x * 512 + t] = v[t];
    data[blockIdx.x * 512 + t + 256] = v[t + 256];
}
__global__ void look_back(const int* in, int* out, int* totals, int* ready) {
    __shared__ int part[256];
    __shared__ int before;
    const int t = threadIdx.x, b = blockIdx.x, i = b * 256 + t;
    part[t] = in[i];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        const int x = t >= d ? part[t - d] : 0;
        __syncthreads();
        part[t] += x;
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        if (b > 0) {
            while (__hip_atomic_load(&ready[b - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
            sum = __hip_atomic_load(&totals[b - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        }
        before = sum;
        __hip_atomic_store(&totals[b], sum + part[255], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_store(&ready[b], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
    __syncthreads();
    out[i] = before + part[t];
}
__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&local[in[i]], 1U);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
__global__ void locked(int* lock, long long* value) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *reinterpret_cast<volatile long long*>(value) = *reinterpret_cast<volatile long long*>(value) + static_cast<long long>(blockIdx.x);
        __threadfence();
        atomicExch(lock, 0);
    }
}
int main() {
    const int n = 4096;
    std::vector<int> v(n);
    unsigned x = 7;
    for (int& e : v) e = static_cast<int>((x = x * 1664525U + 1013904223U) >> 4) - (1 << 26);
    Device<int> d(v);
    sort<<<n / 512, 256>>>(d.data);
    const auto sorted = d.read();
    for (int b = 0; b < n; b += 512) {
        std::vector<int> want(v.begin() + b, v.begin() + b + 512);
        std::sort(want.begin(), want.end());
        for (int i = 0; i < 512; ++i) expect("sort", static_cast<std::size_t>(b + i), sorted[static_cast<std::size_t>(b + i)], want[static_cast<std::size_t>(i)]);
    }
    std::vector<int> small(n);
    for (int i = 0; i < n; ++i) small[static_cast<std::size_t>(i)] = i % 11 - 3;
    Device<int> in(small), out(n), totals(std::vector<int>(16)), ready(std::vector<int>(16));
    look_back<<<16, 256>>>(in.data, out.data, totals.data, ready.data);
    const auto scanned = out.read();
    for (int i = 0, sum = 0; i < n; ++i) expect("scan", static_cast<std::size_t>(i), scanned[static_cast<std::size_t>(i)], sum += small[static_cast<std::size_t>(i)]);

    std::vector<unsigned char> text(20000);
    std::vector<unsigned> want(256);
    for (std::size_t i = 0; i < text.size(); ++i) ++want[text[i] = static_cast<unsigned char>((i * i) % 251)];
    Device<unsigned char> dt(text);
    Device<unsigned> bins(std::vector<unsigned>(256));
    histogram<<<4, 256>>>(dt.data, bins.data, static_cast<int>(text.size()));
    const auto h = bins.read();
    for (std::size_t i = 0; i < 256; ++i) expect("bin", i, h[i], want[i]);

    Device<int> lock(std::vector<int>{0});
    Device<long long> value(std::vector<long long>{0});
    locked<<<40, 64>>>(lock.data, value.data);
    expect("locked sum", 0, value.read()[0], 780LL);
    return verdict();
}
