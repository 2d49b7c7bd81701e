// Persistent workgroups that take work from a queue and put new work into it, and a barrier over the grid by hand.
#include "check.hpp"

/// Splits [low, high) until pieces are small; `open` counts unfinished pieces.
__global__ void split(int2* queue, unsigned* head, unsigned* tail, int* open, unsigned long long* sum) {
    if (threadIdx.x != 0) return;
    for (;;) {
        if (__hip_atomic_load(open, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) return;
        const unsigned at = __hip_atomic_load(head, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        if (at >= __hip_atomic_load(tail, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) continue;
        const int high = __hip_atomic_load(&queue[at].y, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
        if (high == 0) continue;  // its place is taken, its content is not there yet
        const int low = queue[at].x;
        if (atomicCAS(head, at, at + 1) != at) continue;
        if (high - low <= 3) {
            for (int i = low; i < high; ++i) atomicAdd(sum, static_cast<unsigned long long>(i) * i);
        } else {
            const int middle = (low + high) / 2;
            atomicAdd(open, 2);
            const unsigned place = atomicAdd(tail, 2U);
            queue[place].x = low;
            __hip_atomic_store(&queue[place].y, middle, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
            queue[place + 1].x = middle;
            __hip_atomic_store(&queue[place + 1].y, high, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        }
        atomicSub(open, 1);
    }
}
__device__ void grid_barrier(unsigned* arrived, unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1U);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x * round) __builtin_amdgcn_s_sleep(2);
    }
    __syncthreads();
}
__global__ void relax(int* a, int* b, unsigned* arrived, int n, int rounds) {
    for (int r = 0; r < rounds; ++r) {
        const int* from = r % 2 ? b : a;
        int* to = r % 2 ? a : b;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            to[i] = from[(i + 1) % n] * 2 + from[(i + n - 1) % n] - from[(i * 7) % n];
        grid_barrier(arrived, static_cast<unsigned>(r) + 1);
    }
}
int main() {
    const int limit = 500;
    std::vector<int2> queue(2048, make_int2(0, 0));
    queue[0] = make_int2(0, limit);
    Device<int2> q(queue);
    Device<unsigned> head(std::vector<unsigned>{0}), tail(std::vector<unsigned>{1}), arrived(std::vector<unsigned>{0});
    Device<int> open(std::vector<int>{1});
    Device<unsigned long long> sum(std::vector<unsigned long long>{0});
    split<<<8, 64>>>(q.data, head.data, tail.data, open.data, sum.data);
    unsigned long long want = 0;
    for (unsigned long long i = 0; i < limit; ++i) want += i * i;
    expect("sum", 0, sum.read()[0], want);
    const int n = 1000, rounds = 6;
    auto now = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i) % 10); });
    Device<int> a(now), b(n);
    relax<<<5, 128>>>(a.data, b.data, arrived.data, n, rounds);
    for (int r = 0; r < rounds; ++r) {
        const auto old = now;
        for (int i = 0; i < n; ++i) now[i] = old[(i + 1) % n] * 2 + old[(i + n - 1) % n] - old[(i * 7) % n];
    }
    expect_all("relaxed", a.read(), [&](std::size_t i) { return now[i]; });
    return verdict();
}
