// Wavefronts in LDS with a barrier for each diagonal: longest common subsequence, and shortest paths between all pairs.
#include "check.hpp"

__global__ void common(const char* a, const char* b, int* out, int n, int m) {  // one workgroup for each pair
    extern __shared__ int diagonal[];
    int *two = diagonal, *one = diagonal + n + 1, *now = diagonal + 2 * (n + 1);
    a += blockIdx.x * n;
    b += blockIdx.x * m;
    for (int i = threadIdx.x; i < 3 * (n + 1); i += blockDim.x) diagonal[i] = 0;
    __syncthreads();
    for (int d = 2; d <= n + m; ++d) {
        for (int i = threadIdx.x; i <= n; i += blockDim.x) {
            const int j = d - i;
            if (i == 0 || j <= 0 || j > m) now[i] = i == 0 || j <= 0 ? 0 : now[i];
            else now[i] = a[i - 1] == b[j - 1] ? two[i - 1] + 1 : max(one[i - 1], one[i]);
        }
        __syncthreads();
        int* const last = two;
        two = one;
        one = now;
        now = last;
    }
    if (threadIdx.x == 0) out[blockIdx.x] = one[n];
}
__global__ void paths(unsigned short* d, int n) {  // Floyd and Warshall in one workgroup
    for (int k = 0; k < n; ++k) {
        for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
            const int through = d[i / n * n + k] + d[k * n + i % n];
            if (through < d[i]) d[i] = static_cast<unsigned short>(through);
        }
        __syncthreads();
    }
}
int main() {
    const int n = 45, m = 70, pairs = 3;
    const auto a = generate(n * pairs, [](std::size_t i) { return static_cast<char>('a' + mixed(i) % 4); });
    const auto b = generate(m * pairs, [](std::size_t i) { return static_cast<char>('a' + mixed(i + 999) % 4); });
    Device<char> da(a), db(b);
    Device<int> out(pairs);
    common<<<pairs, 40, 3 * (n + 1) * sizeof(int)>>>(da.data, db.data, out.data, n, m);
    expect_all("common", out.read(), [&](std::size_t p) {
        std::vector<std::vector<int>> t(n + 1, std::vector<int>(m + 1, 0));
        for (int i = 1; i <= n; ++i)
            for (int j = 1; j <= m; ++j) t[i][j] = a[p * n + i - 1] == b[p * m + j - 1] ? t[i - 1][j - 1] + 1 : std::max(t[i - 1][j], t[i][j - 1]);
        return t[n][m];
    });
    const int nodes = 30;
    auto d = generate(nodes * nodes, [](std::size_t i) { return static_cast<unsigned short>(i / nodes == i % nodes ? 0 : mixed(i) % 6 == 0 ? mixed(i) % 50 + 1 : 20000); });
    Device<unsigned short> dd(d);
    paths<<<1, 256>>>(dd.data, nodes);
    for (int k = 0; k < nodes; ++k)
        for (int i = 0; i < nodes; ++i)
            for (int j = 0; j < nodes; ++j) d[i * nodes + j] = static_cast<unsigned short>(std::min<int>(d[i * nodes + j], d[i * nodes + k] + d[k * nodes + j]));
    expect_all("path", dd.read(), [&](std::size_t i) { return d[i]; });
    return verdict();
}
