// A sum and a maximum over each workgroup by a tree in LDS, for workgroups that are no power of two.
#include "check.hpp"

__global__ void reduce(const int* in, long long* sums, int* largest, int n) {
    __shared__ long long sum[320];
    __shared__ int most[320];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sum[t] = i < static_cast<unsigned>(n) ? in[i] : 0;
    most[t] = i < static_cast<unsigned>(n) ? in[i] : -2147483647;
    __syncthreads();
    for (unsigned count = blockDim.x; count > 1;) {
        const unsigned half = (count + 1) / 2;
        if (t + half < count) {
            sum[t] += sum[t + half];
            most[t] = max(most[t], most[t + half]);
        }
        __syncthreads();
        count = half;
    }
    if (t == 0) {
        sums[blockIdx.x] = sum[0];
        largest[blockIdx.x] = most[0];
    }
}
int main() {
    const int n = 5000;
    const auto in = generate(n, [](std::size_t i) { return static_cast<int>(mixed(static_cast<unsigned>(i))); });
    Device<int> d(in);
    for (const int threads : {1, 7, 64, 65, 100, 191, 256, 320}) {
        const int groups = (n + threads - 1) / threads;
        Device<long long> sums(groups);
        Device<int> largest(groups);
        reduce<<<groups, threads>>>(d.data, sums.data, largest.data, n);
        const auto s = sums.read();
        const auto m = largest.read();
        for (int g = 0; g < groups; ++g) {
            long long want = 0;
            int most = -2147483647;
            for (int i = g * threads; i < n && i < (g + 1) * threads; ++i) {
                want += in[i];
                most = std::max(most, in[i]);
            }
            expect("sum", g, s[g], want);
            expect("maximum", g, m[g], most);
        }
    }
    return verdict();
}
