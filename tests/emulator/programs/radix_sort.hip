// A stable radix sort of keys with values, four bits at a time: count per workgroup, scan, scatter.
#include "check.hpp"

constexpr int threads = 128;
__global__ void count(const unsigned* keys, int* counts, int n, int shift) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * threads + threadIdx.x;
    if (i < n) atomicAdd(&bins[keys[i] >> shift & 15U], 1);
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}
__global__ void scan(int* counts, int n) {  // exclusive, by one workgroup with a carry
    __shared__ int part[256];
    int carry = 0;
    for (int first = 0; first < n; first += 256) {
        const int i = first + threadIdx.x, v = i < n ? counts[i] : 0;
        part[threadIdx.x] = v;
        __syncthreads();
        for (int d = 1; d < 256; d *= 2) {
            const int left = static_cast<int>(threadIdx.x) >= d ? part[threadIdx.x - d] : 0;
            __syncthreads();
            part[threadIdx.x] += left;
            __syncthreads();
        }
        if (i < n) counts[i] = carry + part[threadIdx.x] - v;
        carry += part[255];
        __syncthreads();
    }
}
__global__ void scatter(const unsigned* keys, const int* values, unsigned* to, int* values_to, const int* counts, int n, int shift) {
    __shared__ int waves[16][threads / 64];
    const int i = blockIdx.x * threads + threadIdx.x, wave = threadIdx.x / 64;
    const unsigned digit = i < n ? keys[i] >> shift & 15U : 16;
    int rank = 0;
    for (unsigned d = 0; d < 16; ++d) {
        const unsigned long long same = __ballot(digit == d);
        if (digit == d) rank = __popcll(same & ((1ULL << __lane_id()) - 1));
        if (__lane_id() == 0) waves[d][wave] = __popcll(same);
    }
    __syncthreads();
    if (i >= n) return;
    for (int w = 0; w < wave; ++w) rank += waves[digit][w];
    const int at = counts[digit * gridDim.x + blockIdx.x] + rank;
    to[at] = keys[i];
    values_to[at] = values[i];
}
int main() {
    const int n = 3000, groups = (n + threads - 1) / threads;
    auto keys = generate(n, [](std::size_t i) { return mixed(i) & 0xffff0fffU; });
    auto values = generate(n, [](std::size_t i) { return static_cast<int>(i); });
    Device<unsigned> a(keys), b(n);
    Device<int> va(values), vb(n), counts(16 * groups);
    for (int shift = 0; shift < 32; shift += 8) {
        count<<<groups, threads>>>(a.data, counts.data, n, shift);
        scan<<<1, 256>>>(counts.data, 16 * groups);
        scatter<<<groups, threads>>>(a.data, va.data, b.data, vb.data, counts.data, n, shift);
        count<<<groups, threads>>>(b.data, counts.data, n, shift + 4);
        scan<<<1, 256>>>(counts.data, 16 * groups);
        scatter<<<groups, threads>>>(b.data, vb.data, a.data, va.data, counts.data, n, shift + 4);
    }
    std::stable_sort(values.begin(), values.end(), [&](int x, int y) { return keys[x] < keys[y]; });
    expect_all("value", va.read(), [&](std::size_t i) { return values[i]; });
    expect_all("key", a.read(), [&](std::size_t i) { return keys[values[i]]; });
    return verdict();
}
