// Private arrays that live in scratch memory: sorted, permuted and used as stacks, with indices known at run time only.
#include "check.hpp"

__global__ void sort_private(const unsigned* in, unsigned* out, int count) {
    unsigned own[40];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < count; ++k) own[k] = in[(i * 7 + k * 13) % 1024];
    for (int k = 1; k < count; ++k) {
        const unsigned v = own[k];
        int j = k - 1;
        for (; j >= 0 && own[j] > v; --j) own[j + 1] = own[j];
        own[j + 1] = v;
    }
    unsigned hash = 0;
    for (int k = 0; k < count; ++k) hash = hash * 31 + own[k];
    out[i] = hash;
}
struct Pair { short a; unsigned char b; double c; };
__global__ void mixed_types(const unsigned* in, double* out, int count) {
    Pair pairs[9];
    long long big[9];
    unsigned char small[33];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 33; ++k) small[k] = static_cast<unsigned char>(in[(i + k) % 1024]);
    for (int k = 0; k < 9; ++k) {
        pairs[k] = {static_cast<short>(in[(i + k) % 1024]), small[(k * 5) % 33], k * 0.5};
        big[k] = static_cast<long long>(in[(i * k) % 1024]) << 16;
    }
    double sum = 0;
    for (int k = 0; k < count; ++k) {
        const int at = static_cast<int>(in[(i + k) % 1024] % 9);
        sum += pairs[at].a + pairs[at].b * 2 + pairs[at].c + static_cast<double>(big[(at + k) % 9] >> 12) + small[(at * k) % 33];
        pairs[(at + 1) % 9].b = static_cast<unsigned char>(k);
    }
    out[i] = sum;
}
int main() {
    const int n = 3 * 100;
    const auto in = generate(1024, [](std::size_t i) { return mixed(i) % 100000; });
    Device<unsigned> d(in), sorted(n);
    Device<double> sums(n);
    sort_private<<<3, 100>>>(d.data, sorted.data, 40);
    mixed_types<<<3, 100>>>(d.data, sums.data, 20);
    expect_all("sorted", sorted.read(), [&](std::size_t i) {
        std::vector<unsigned> own(40);
        for (int k = 0; k < 40; ++k) own[k] = in[(i * 7 + k * 13) % 1024];
        std::sort(own.begin(), own.end());
        unsigned hash = 0;
        for (const unsigned v : own) hash = hash * 31 + v;
        return hash;
    });
    expect_all("mixed", sums.read(), [&](std::size_t i) {
        Pair pairs[9];
        long long big[9];
        unsigned char small[33];
        for (int k = 0; k < 33; ++k) small[k] = static_cast<unsigned char>(in[(i + k) % 1024]);
        for (int k = 0; k < 9; ++k) {
            pairs[k] = {static_cast<short>(in[(i + k) % 1024]), small[(k * 5) % 33], k * 0.5};
            big[k] = static_cast<long long>(in[(i * k) % 1024]) << 16;
        }
        double sum = 0;
        for (int k = 0; k < 20; ++k) {
            const int at = static_cast<int>(in[(i + k) % 1024] % 9);
            sum += pairs[at].a + pairs[at].b * 2 + pairs[at].c + static_cast<double>(big[(at + k) % 9] >> 12) + small[(at * k) % 33];
            pairs[(at + 1) % 9].b = static_cast<unsigned char>(k);
        }
        return sum;
    });
    return verdict();
}
