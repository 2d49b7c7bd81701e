// hipCUB's functions over rocPRIM against plain loops.
#include <hip/hip_runtime.h>
#include <hipcub/block/block_scan.hpp>
#include <hipcub/hipcub.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#define CHECK(call) do { if (hipError_t e = (call)) { std::printf("line %d: %s\n", __LINE__, hipGetErrorName(e)); return 1; } } while (0)
#define SAME(a, b) do { if (!((a) == (b))) { std::printf("line %d differs\n", __LINE__); return 1; } } while (0)

constexpr int block = 128, n = 4000;

__global__ void of_blocks(const int* in, int* sums, int* scans, int* waves) {
    using Reduce = hipcub::BlockReduce<int, block>;
    using Scan = hipcub::BlockScan<int, block>;
    using Wave = hipcub::WarpReduce<int>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
        typename Wave::TempStorage wave[block / 64];
    } temp;
    const int i = blockIdx.x * block + threadIdx.x;
    const int sum = Reduce(temp.reduce).Sum(in[i]);
    if (threadIdx.x == 0) sums[2 * blockIdx.x] = sum;
    __syncthreads();
    const int most = Reduce(temp.reduce).Reduce(in[i], hipcub::Max());
    if (threadIdx.x == 0) sums[2 * blockIdx.x + 1] = most;
    __syncthreads();
    Scan(temp.scan).ExclusiveSum(in[i], scans[i]);
    __syncthreads();
    const int of_wave = Wave(temp.wave[threadIdx.x / 64]).Sum(in[i]);
    if (threadIdx.x % 64 == 0) waves[i / 64] = of_wave;
}

struct Odd {
    __host__ __device__ bool operator()(int i) const { return i % 2 == 1; }
};

template <class Call>
int twice(Call call) {
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    void* temp;
    CHECK(hipMalloc(&temp, bytes));
    CHECK(call(temp, bytes));
    CHECK(hipFree(temp));
    return 0;
}

template <class T>
std::vector<T> fetched(const T* from, int count) {
    std::vector<T> h(count);
    (void)hipMemcpy(h.data(), from, count * sizeof(T), hipMemcpyDeviceToHost);
    return h;
}

int main() {
    std::vector<int> h(n);
    unsigned state = 1;
    for (int& v : h) v = static_cast<int>((state = state * 1664525U + 1013904223U) >> 20) - 2000;
    int *in, *out, *other, *count;
    CHECK(hipMalloc(&in, n * 4));
    CHECK(hipMalloc(&out, n * 4));
    CHECK(hipMalloc(&other, n * 4));
    CHECK(hipMalloc(&count, 4));
    CHECK(hipMemcpy(in, h.data(), n * 4, hipMemcpyHostToDevice));

    of_blocks<<<8, block>>>(in, out, other, out + 100);
    const auto sums = fetched(out, 200), scans = fetched(other, 8 * block);
    for (int b = 0; b < 8; ++b) {
        const auto* first = h.data() + b * block;
        SAME(sums[2 * b], std::accumulate(first, first + block, 0));
        SAME(sums[2 * b + 1], *std::max_element(first, first + block));
        for (int i = 0; i < block; ++i) SAME(scans[b * block + i], std::accumulate(first, first + i, 0));
        SAME(sums[100 + 2 * b], std::accumulate(first, first + 64, 0));
    }

    if (twice([&](void* t, size_t& s) { return hipcub::DeviceReduce::Sum(t, s, in, count, n); })) return 1;
    SAME(fetched(count, 1)[0], std::accumulate(h.begin(), h.end(), 0));
    if (twice([&](void* t, size_t& s) { return hipcub::DeviceReduce::Min(t, s, in, count, n); })) return 1;
    SAME(fetched(count, 1)[0], *std::min_element(h.begin(), h.end()));
    // Flags are counted in the type of the result.
    hipcub::CountingInputIterator<int> numbers(0);
    hipcub::TransformInputIterator<bool, Odd, decltype(numbers)> odd(numbers, Odd());
    if (twice([&](void* t, size_t& s) { return hipcub::DeviceReduce::Sum(t, s, odd, count, n); })) return 1;
    SAME(fetched(count, 1)[0], n / 2);
    std::vector<int> wanted(n);
    if (twice([&](void* t, size_t& s) { return hipcub::DeviceScan::InclusiveSum(t, s, in, out, n); })) return 1;
    std::partial_sum(h.begin(), h.end(), wanted.begin());
    SAME(fetched(out, n), wanted);
    if (twice([&](void* t, size_t& s) { return hipcub::DeviceSelect::Unique(t, s, in, out, count, n); })) return 1;
    if (twice([&](void* t, size_t& s) { return hipcub::DeviceRadixSort::SortKeys(t, s, in, out, n); })) return 1;
    wanted = h;
    std::sort(wanted.begin(), wanted.end());
    SAME(fetched(out, n), wanted);
    hipcub::DoubleBuffer<int> only(in, out);
    if (twice([&](void* t, size_t& s) { return hipcub::DeviceRadixSort::SortKeysDescending(t, s, only, n); })) return 1;
    std::reverse(wanted.begin(), wanted.end());
    SAME(fetched(only.Current(), n), wanted);
    std::puts("PASS");
}
