// A single-pass scan: workgroups take tickets, publish partial sums in one 64-bit word and look back for the rest.
#include "check.hpp"

constexpr int threads = 128, per_thread = 3, tile = threads * per_thread;
constexpr unsigned long long partial = 1ULL << 62, complete = 2ULL << 62, mask = partial - 1;

__global__ void scan(const unsigned* in, unsigned long long* out, unsigned long long* status, unsigned* next, int n) {
    __shared__ unsigned long long sums[threads];
    __shared__ unsigned ticket;
    __shared__ unsigned long long before;
    const int t = threadIdx.x;
    if (t == 0) ticket = atomicAdd(next, 1U);
    __syncthreads();
    const int first = static_cast<int>(ticket) * tile + t * per_thread;
    unsigned long long own[per_thread], sum = 0;
    for (int k = 0; k < per_thread; ++k) own[k] = sum += first + k < n ? in[first + k] : 0;
    sums[t] = sum;
    __syncthreads();
    for (int d = 1; d < threads; d *= 2) {
        const unsigned long long left = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    if (t == 0) {
        const unsigned long long all = sums[threads - 1];
        __hip_atomic_store(&status[ticket], (ticket == 0 ? complete : partial) | all, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        before = 0;
        for (int at = static_cast<int>(ticket) - 1; at >= 0;) {
            const unsigned long long seen = __hip_atomic_load(&status[at], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
            if (seen == 0) continue;
            before += seen & mask;
            if (seen & complete) break;
            --at;
        }
        if (ticket != 0) __hip_atomic_store(&status[ticket], complete | (before + all), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
    __syncthreads();
    const unsigned long long base = before + (t > 0 ? sums[t - 1] : 0);
    for (int k = 0; k < per_thread; ++k)
        if (first + k < n) out[first + k] = base + own[k];
}
int main() {
    for (const int n : {1, 383, 384, 385, 40001}) {
        const int groups = (n + tile - 1) / tile;
        const auto in = generate(n, [](std::size_t i) { return mixed(i); });
        Device<unsigned> d(in), next(std::vector<unsigned>{0});
        Device<unsigned long long> out(n), status(std::vector<unsigned long long>(groups, 0));
        scan<<<groups, threads>>>(d.data, out.data, status.data, next.data, n);
        unsigned long long sum = 0;
        expect_all("scan", out.read(), [&](std::size_t i) { return sum += in[i]; });
    }
    return verdict();
}
