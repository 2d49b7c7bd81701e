// Atomics of 32 and 64 bits with every scope and memory order, on global memory and on LDS.
#include "check.hpp"

template <int Scope, class T>
__device__ void all_orders(T* cell) {
    __hip_atomic_fetch_add(cell + 0, T{1}, __ATOMIC_RELAXED, Scope);
    __hip_atomic_fetch_add(cell + 1, T{2}, __ATOMIC_ACQUIRE, Scope);
    __hip_atomic_fetch_add(cell + 2, T{3}, __ATOMIC_RELEASE, Scope);
    __hip_atomic_fetch_add(cell + 3, T{4}, __ATOMIC_ACQ_REL, Scope);
    __hip_atomic_fetch_add(cell + 4, T{5}, __ATOMIC_SEQ_CST, Scope);
    __hip_atomic_fetch_or(cell + 5, T{1} << (threadIdx.x % 31), __ATOMIC_RELAXED, Scope);
    __hip_atomic_fetch_and(cell + 6, ~(T{1} << (threadIdx.x % 31)), __ATOMIC_ACQ_REL, Scope);
    __hip_atomic_fetch_xor(cell + 7, T{threadIdx.x + 1}, __ATOMIC_RELEASE, Scope);
    __hip_atomic_fetch_min(cell + 8, T{1000 - threadIdx.x}, __ATOMIC_RELAXED, Scope);
    __hip_atomic_fetch_max(cell + 9, T{threadIdx.x * 3}, __ATOMIC_RELAXED, Scope);
    T expected = __hip_atomic_load(cell + 10, __ATOMIC_RELAXED, Scope);
    while (!__hip_atomic_compare_exchange_strong(cell + 10, &expected, expected + 7, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, Scope)) {}
    if (threadIdx.x == 0) __hip_atomic_store(cell + 11, T{77}, __ATOMIC_RELEASE, Scope);
}
template <class T>
__global__ void update(T* cells) {
    __shared__ T local[12];
    if (threadIdx.x < 12) local[threadIdx.x] = threadIdx.x == 6 || threadIdx.x == 8 ? ~T{0} : 0;
    __syncthreads();
    all_orders<__HIP_MEMORY_SCOPE_AGENT>(cells);
    all_orders<__HIP_MEMORY_SCOPE_SYSTEM>(cells + 12);
    all_orders<__HIP_MEMORY_SCOPE_WORKGROUP>(local);
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x < 12) cells[24 + threadIdx.x] = local[threadIdx.x];
    all_orders<__HIP_MEMORY_SCOPE_WORKGROUP>(cells + 36 + 12 * blockIdx.x);
}
template <class T>
void check(const char* name) {
    const int threads = 160, groups = 5;
    std::vector<T> cells(36 + 12 * groups, 0);
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (i % 12 == 6 || i % 12 == 8) cells[i] = ~T{0};
    Device<T> d(cells);
    update<<<groups, threads>>>(d.data);
    const auto got = d.read();
    for (std::size_t block = 0; block < got.size() / 12; ++block) {
        const T n = block < 2 ? threads * groups : threads;
        T either = 0, parity = 0;
        for (int t = 0; t < threads; ++t) {
            either |= T{1} << (t % 31);
            parity ^= static_cast<T>(t + 1);
        }
        if (block < 2 && groups % 2 == 0) parity = 0;
        const T want[12] = {n, 2 * n, 3 * n, 4 * n, 5 * n, either, static_cast<T>(~either), parity, 1000 - threads + 1, (threads - 1) * 3, 7 * n, 77};
        for (int i = 0; i < 12; ++i) expect(name, block * 12 + i, got[block * 12 + i], want[i]);
    }
}
int main() {
    check<unsigned>("32 bits");
    check<unsigned long long>("64 bits");
    return verdict();
}
