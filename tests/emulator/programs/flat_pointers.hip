// Pointers of which the compiler does not know the address space: global, LDS and scratch mixed in one wave, volatile.
#include "check.hpp"

__device__ __attribute__((noinline)) void bump(volatile int* p, int by) { *p = *p + by; }
__device__ __attribute__((noinline)) int sum(const int* const* lists, int count, int length) {
    int s = 0;
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < length; ++i) s = s * 3 + lists[k][i];
    return s;
}
__device__ __attribute__((noinline)) int add_atomic(int* p, int v) { return atomicAdd(p, v); }

__global__ void run(int* global, int* out, int* sums) {
    __shared__ int lds[3 * 128];
    int own[3] = {1, 2, 3};
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    for (int k = 0; k < 3; ++k) lds[t * 3 + k] = t + k;
    __syncthreads();
    int* places[3] = {global + i * 3, lds + t * 3, own};
    for (int r = 0; r < 5; ++r) bump(places[(t + r) % 3] + r % 3, r + 1);
    const int* lists[3] = {places[t % 3], places[(t + 1) % 3], places[(t + 2) % 3]};
    out[i] = sum(lists, 3, 3);
    add_atomic(t % 2 ? &sums[0] : &lds[0], 1);  // some lanes in memory, some in LDS
    __syncthreads();
    if (t == 0) atomicAdd(&sums[1], lds[0]);
}
int main() {
    const int threads = 128, groups = 3, n = threads * groups;
    auto memory = generate(n * 3, [](std::size_t i) { return static_cast<int>(i % 50); });
    Device<int> d(memory), out(n), sums(std::vector<int>(2, 0));
    run<<<groups, threads>>>(d.data, out.data, sums.data);
    const auto got = out.read();
    int first = 0;
    for (int i = 0; i < n; ++i) {
        const int t = i % threads;
        int v[3][3] = {{memory[i * 3], memory[i * 3 + 1], memory[i * 3 + 2]}, {t, t + 1, t + 2}, {1, 2, 3}};
        for (int r = 0; r < 5; ++r) v[(t + r) % 3][r % 3] += r + 1;
        int want = 0;
        for (int k = 0; k < 3; ++k)
            for (int e = 0; e < 3; ++e) want = want * 3 + v[(t + k) % 3][e];
        if (t != 0) expect("sum", i, got[i], want);  // thread 0's LDS may have been counted up already
        for (int e = 0; e < 3; ++e) memory[i * 3 + e] = v[0][e];
        if (t == 0) first += v[1][0];
    }
    expect_all("memory", d.read(), [&](std::size_t i) { return memory[i]; });
    const auto s = sums.read();
    expect("odd lanes", 0, s[0], n / 2);
    expect("even lanes", 0, s[1], n / 2 + first);
    return verdict();
}
