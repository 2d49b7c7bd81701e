// Two sorted lists merged by binary search along diagonals; a sieve of primes with one bit for each number.
#include "check.hpp"

__global__ void merge(const int* a, int na, const int* b, int nb, int* out, int each) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * each, total = na + nb;
    if (first >= total) return;
    int low = max(0, first - nb), high = min(first, na);
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a[middle] <= b[first - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    int i = low, j = first - low;
    for (int k = first; k < min(first + each, total); ++k) out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}
__global__ void sieve(unsigned* composite, int limit) {
    for (int p = 2 + blockIdx.x * blockDim.x + threadIdx.x; p * p <= limit; p += gridDim.x * blockDim.x)
        for (int m = p * p; m <= limit; m += p) atomicOr(&composite[m / 32], 1U << (m % 32));
}
int main() {
    auto a = generate(700, [](std::size_t i) { return static_cast<int>(mixed(i) % 1000); });
    auto b = generate(431, [](std::size_t i) { return static_cast<int>(mixed(i + 7777) % 1000); });
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::vector<int> want(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), want.begin());
    Device<int> da(a), db(b), out(want.size());
    merge<<<3, 64>>>(da.data, 700, db.data, 431, out.data, 6);
    expect_all("merged", out.read(), [&](std::size_t i) { return want[i]; });
    const int limit = 10000;
    Device<unsigned> composite(std::vector<unsigned>(limit / 32 + 1, 0));
    sieve<<<2, 64>>>(composite.data, limit);
    const auto bits = composite.read();
    int count = 0;
    for (int i = 2; i <= limit; ++i) count += (bits[i / 32] >> (i % 32) & 1U) == 0;
    expect("primes up to 10000", 0, count, 1229);
    return verdict();
}
