// Workgroups of 1024 threads (16 waves) with much LDS and many barriers: a reversal, a scan and a rotation in place.
#include "check.hpp"

__global__ __launch_bounds__(1024) void run(const int* in, int* out, long long* sums, int rounds) {
    __shared__ int v[2048];
    __shared__ long long waves[16];
    const int t = threadIdx.x;
    v[t] = in[blockIdx.x * 2048 + t];
    v[t + 1024] = in[blockIdx.x * 2048 + 1024 + t];
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {  // rotate by 2r + 1, then mirror
        const int a = v[(t + 2 * r + 1) % 2048], b = v[(t + 1024 + 2 * r + 1) % 2048];
        __syncthreads();
        v[2047 - t] = a;
        v[1023 - t] = b;
        __syncthreads();
    }
    long long sum = static_cast<long long>(v[2 * t]) + v[2 * t + 1];
    for (int d = 1; d < 64; d *= 2) {
        const long long left = __shfl_up(sum, d);
        if (t % 64 >= d) sum += left;
    }
    if (t % 64 == 63) waves[t / 64] = sum;
    __syncthreads();
    for (int w = 0; w < t / 64; ++w) sum += waves[w];
    sums[blockIdx.x * 1024 + t] = sum;
    out[blockIdx.x * 2048 + t] = v[t];
    out[blockIdx.x * 2048 + 1024 + t] = v[1024 + t];
}
int main() {
    const int groups = 3, rounds = 5;
    const auto in = generate(groups * 2048, [](std::size_t i) { return static_cast<int>(mixed(i)); });
    Device<int> d(in), out(in.size());
    Device<long long> sums(groups * 1024);
    run<<<groups, 1024>>>(d.data, out.data, sums.data, rounds);
    const auto got = out.read();
    const auto s = sums.read();
    for (int g = 0; g < groups; ++g) {
        std::vector<int> v(&in[g * 2048], &in[g * 2048] + 2048);
        for (int r = 0; r < rounds; ++r) {
            std::rotate(v.begin(), v.begin() + 2 * r + 1, v.end());
            std::reverse(v.begin(), v.end());
        }
        long long sum = 0;
        for (int i = 0; i < 2048; ++i) {
            expect("turned", g * 2048 + i, got[g * 2048 + i], v[i]);
            sum += v[i];
            if (i % 2) expect("sum", g * 1024 + i / 2, s[g * 1024 + i / 2], sum);
        }
    }
    return verdict();
}
