// Corners of divergence: loops left at different times, break, continue and return inside nests, no lane left, barriers
// that every wave reaches by another way.
#include "check.hpp"

__host__ __device__ inline int maze(int t, const int* v, int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        if (v[(t + i) % n] % 7 == 0) continue;
        for (int j = i; j < n; ++j) {
            if (v[(t * j) % n] % 11 == 3) break;
            if ((sum ^ j) % 37 == 36) return sum * 2 + 1;
            int k = v[j] % 5;
            do {
                sum += k * t + 1;
                if (sum % 13 == 12) goto out;
            } while (--k > 0);
        }
        while (sum > 5000) sum -= v[i] + 1000;
    }
out:
    return sum;
}
__global__ void run(const int* v, int* out, int n) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = maze(t, v, n);
}
__global__ void nobody(int* out) {
    const int t = threadIdx.x;
    if (t > 5000) out[t] = 1;  // no lane
    for (int i = 0; i < out[0]; ++i) out[1 + i] = t;  // no turn
    if (t < 64) {
        if (t < 0) out[t] = 2;
        else if (t % 2) out[t] = 3;
    }
    if (__ballot(t % 64 == 77) != 0) out[0] = 9;
}
__global__ void barriers(int* out) {  // waves 0 and 1 take different paths to the same number of barriers
    __shared__ int v[128];
    const int t = threadIdx.x;
    v[t] = t;
    __syncthreads();
    if (t / 64 == 0) {
        const int x = v[t + 64];
        __syncthreads();
        v[t] = x * 2;
    } else {
        const int x = v[t - 64];
        __syncthreads();
        v[t] = x + 1000;
    }
    __syncthreads();
    if (t >= 100) return;  // lanes and later a whole part of a wave leave before the last barrier
    out[t] = v[127 - t];
    __syncthreads();
    if (t < 10) out[t] += out[99 - t];
}
int main() {
    const int n = 61;
    const auto v = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i) % 100); });
    Device<int> d(v), out(3 * 160), none(std::vector<int>(128, 0)), b(100);
    run<<<3, 160>>>(d.data, out.data, n);
    expect_all("maze", out.read(), [&](std::size_t t) { return maze(static_cast<int>(t), v.data(), n); });
    nobody<<<1, 128>>>(none.data);
    expect_all("nobody", none.read(), [](std::size_t i) { return i < 64 && i % 2 ? 3 : 0; });
    barriers<<<1, 128>>>(b.data);
    const auto value = [](int t) { return t < 64 ? (t + 64) * 2 : t - 64 + 1000; };
    expect_all("barriers", b.read(), [&](std::size_t t) {
        const int i = static_cast<int>(t);
        return value(127 - i) + (i < 10 ? value(127 - (99 - i)) : 0);
    });
    return verdict();
}
