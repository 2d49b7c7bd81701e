// Recursion with state on the stack: Ackermann, quicksort, mutual recursion, backtracking (n queens).
#include "check.hpp"

__host__ __device__ __attribute__((noinline)) int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __attribute__((noinline)) void quicksort(int* v, int low, int high) {
    if (low >= high) return;
    const int pivot = v[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (v[i] < pivot) ++i;
        while (v[j] > pivot) --j;
        if (i <= j) {
            const int swap = v[i];
            v[i++] = v[j];
            v[j--] = swap;
        }
    }
    quicksort(v, low, j);
    quicksort(v, i, high);
}
__host__ __device__ bool odd(unsigned n);
__host__ __device__ __attribute__((noinline)) bool even(unsigned n) { return n == 0 || odd(n - 1); }
__host__ __device__ __attribute__((noinline)) bool odd(unsigned n) { return n != 0 && even(n - 1); }
__device__ __attribute__((noinline)) int queens(int n, unsigned columns, unsigned left, unsigned right, int row) {
    if (row == n) return 1;
    int count = 0;
    for (int c = 0; c < n; ++c) {
        const unsigned bit = 1U << c;
        if ((columns | left | right) & bit) continue;
        count += queens(n, columns | bit, (left | bit) << 1, (right | bit) >> 1, row + 1);
    }
    return count;
}
__global__ void run(int* results, int* arrays) {
    const int t = threadIdx.x;
    results[t] = ackermann(t % 3, t % 5);
    quicksort(arrays + t * 24, 0, 23);
    results[128 + t] = even(static_cast<unsigned>(t % 17)) ? 1 : 0;
    if (t < 7) results[256 + t] = queens(t + 1, 0, 0, 0, 0);
}
int main() {
    auto arrays = generate(128 * 24, [](std::size_t i) { return static_cast<int>(mixed(i) % 1000); });
    Device<int> results(263), d(arrays);
    run<<<1, 128>>>(results.data, d.data);
    const auto r = results.read();
    for (int t = 0; t < 128; ++t) {
        expect("ackermann", t, r[t], ackermann(t % 3, t % 5));
        expect("even", t, r[128 + t], t % 17 % 2 == 0 ? 1 : 0);
        std::sort(&arrays[t * 24], &arrays[t * 24] + 24);
    }
    const int solutions[7] = {1, 0, 0, 2, 10, 4, 40};
    for (int t = 0; t < 7; ++t) expect("queens", t, r[256 + t], solutions[t]);
    expect_all("sorted", d.read(), [&](std::size_t i) { return arrays[i]; });
    return verdict();
}
