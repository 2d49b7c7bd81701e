// Operations that hardware has no atomic for, by compare-and-swap: product modulo a prime, 64-bit pairs, bytes.
#include "check.hpp"

constexpr unsigned prime = 998244353U;
__device__ void multiply(unsigned* cell, unsigned factor) {
    unsigned old = *cell, assumed;
    do {
        assumed = old;
        old = atomicCAS(cell, assumed, static_cast<unsigned>(static_cast<unsigned long long>(assumed) * factor % prime));
    } while (old != assumed);
}
__device__ void keep_best(unsigned long long* cell, unsigned score, unsigned index) {  // highest score, lowest index
    const unsigned long long mine = static_cast<unsigned long long>(score) << 32 | (0xffffffffU - index);
    unsigned long long old = *cell;
    while (mine > old) {
        const unsigned long long seen = atomicCAS(cell, old, mine);
        if (seen == old) break;
        old = seen;
    }
}
__device__ void add_byte(unsigned char* cell, unsigned char value) {
    auto* word = reinterpret_cast<unsigned*>(reinterpret_cast<size_t>(cell) & ~size_t{3});
    const unsigned shift = (reinterpret_cast<size_t>(cell) & 3U) * 8U;
    unsigned old = *word, assumed;
    do {
        assumed = old;
        const unsigned sum = ((assumed >> shift) + value) & 0xffU;
        old = atomicCAS(word, assumed, (assumed & ~(0xffU << shift)) | sum << shift);
    } while (old != assumed);
}
__global__ void run(unsigned* product, unsigned long long* best, unsigned char* bytes, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= static_cast<unsigned>(n)) return;
    multiply(product, i + 2);
    keep_best(best, mixed(i) % 50, i);
    add_byte(&bytes[i % 5], static_cast<unsigned char>(i));
}
int main() {
    const int n = 700;
    Device<unsigned> product(std::vector<unsigned>{1});
    Device<unsigned long long> best(std::vector<unsigned long long>{0});
    Device<unsigned char> bytes(std::vector<unsigned char>(8, 0));
    run<<<4, 192>>>(product.data, best.data, bytes.data, n);
    unsigned long long want = 1, most = 0;
    unsigned char sums[8] = {};
    for (unsigned i = 0; i < static_cast<unsigned>(n); ++i) {
        want = want * (i + 2) % prime;
        most = std::max(most, static_cast<unsigned long long>(mixed(i) % 50) << 32 | (0xffffffffU - i));
        sums[i % 5] = static_cast<unsigned char>(sums[i % 5] + i);
    }
    expect("product", 0, product.read()[0], static_cast<unsigned>(want));
    expect("best", 0, best.read()[0], most);
    expect_all("bytes", bytes.read(), [&](std::size_t i) { return sums[i]; });
    return verdict();
}
