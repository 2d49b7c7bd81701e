// A bitonic sort of doubles over global memory, one launch for each step, and of pairs within each wave by shuffles.
#include "check.hpp"

__global__ void step(double* v, unsigned j, unsigned k) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other <= i) return;
    const bool up = (i & k) == 0;
    if ((v[i] > v[other]) == up) {
        const double swap = v[i];
        v[i] = v[other];
        v[other] = swap;
    }
}
__global__ void by_shuffles(const unsigned* in, unsigned long long* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 64;
    unsigned long long v = static_cast<unsigned long long>(in[i]) << 8 | lane;
    for (unsigned k = 2; k <= 64; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            const unsigned long long other = __shfl_xor(v, j);
            const bool lower = (lane & j) == 0, up = (lane & k) == 0;
            v = (lower == up) == (v < other) ? v : other;
        }
    out[i] = v;
}
int main() {
    const unsigned n = 1024;
    auto values = generate(n, [](std::size_t i) { return (static_cast<int>(mixed(i) % 2000) - 1000) * 0.25; });
    Device<double> d(values);
    for (unsigned k = 2; k <= n; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) step<<<n / 128, 128>>>(d.data, j, k);
    std::sort(values.begin(), values.end());
    expect_all("sorted", d.read(), [&](std::size_t i) { return values[i]; });
    const auto keys = generate(256, [](std::size_t i) { return mixed(i) % 50; });
    Device<unsigned> dk(keys);
    Device<unsigned long long> out(256);
    by_shuffles<<<1, 256>>>(dk.data, out.data);
    const auto got = out.read();
    for (int first = 0; first < 256; first += 64) {
        std::vector<unsigned long long> want(64);
        for (int l = 0; l < 64; ++l) want[l] = static_cast<unsigned long long>(keys[first + l]) << 8 | static_cast<unsigned>(l);
        std::sort(want.begin(), want.end());
        for (int l = 0; l < 64; ++l) expect("wave", first + l, got[first + l], want[l]);
    }
    return verdict();
}
