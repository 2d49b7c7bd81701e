// Workgroups whose last wave is not full: ballots, shuffles, barriers and atomics with 1 to 130 threads.
#include "check.hpp"

__global__ void run(int* out, unsigned long long* mask) {
    __shared__ int sum, last[130];
    const int t = threadIdx.x, n = blockDim.x;
    if (t == 0) sum = 0;
    last[t] = t * 2;
    __syncthreads();
    atomicAdd(&sum, t + 1);
    const unsigned long long active = __ballot(1);
    const int up = __shfl_up(t, 1), all = __all(t < n), any = __any(t == n - 1);
    __syncthreads();
    out[blockIdx.x * n + t] = sum * 100 + last[n - 1 - t] + (t % 64 ? up == t - 1 : up == t) * 10 + all * 1 + any * 2;
    if (t % 64 == 0) mask[blockIdx.x * 3 + t / 64] = active;
}
int main() {
    for (int n = 1; n <= 130; n += n < 66 && n > 60 ? 1 : 7) {
        Device<int> out(3 * n);
        Device<unsigned long long> mask(std::vector<unsigned long long>(9, 0));
        run<<<3, n>>>(out.data, mask.data);
        expect_all("value", out.read(), [&](std::size_t i) {
            const int t = static_cast<int>(i) % n;
            return n * (n + 1) / 2 * 100 + (n - 1 - t) * 2 + 10 + 1 + ((n - 1) / 64 == t / 64 ? 2 : 0);
        });
        expect_all("mask", mask.read(), [&](std::size_t i) {
            const int lanes = std::clamp(n - static_cast<int>(i % 3) * 64, 0, 64);
            return lanes == 64 ? ~0ULL : (1ULL << lanes) - 1;
        });
    }
    return verdict();
}
