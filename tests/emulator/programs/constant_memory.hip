// Constant memory: structures and tables, uniform and divergent indices, changed between launches.
#include "check.hpp"

struct Setup { double scale; int offset; unsigned char code[5]; short limits[3]; };
__constant__ Setup setup;
__constant__ int table[257];
__constant__ float weights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
__constant__ const char letters[] = "gather";

__global__ void apply(double* out, int n, int uniform) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = table[i % 257] * setup.scale + setup.offset + setup.code[i % 5] + setup.limits[uniform] + weights[i % 3][i / 3 % 3] + letters[i % 6];
}
int main() {
    const int n = 900;
    Device<double> out(n);
    const float plain[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    for (int round = 0; round < 3; ++round) {
        Setup s{0.5 + round, -round, {1, 2, 3, 4, static_cast<unsigned char>(250 + round)}, {-5, static_cast<short>(round), 9}};
        const auto t = generate(257, [&](std::size_t i) { return static_cast<int>(mixed(i + round) % 1000); });
        must(hipMemcpyToSymbol(HIP_SYMBOL(setup), &s, sizeof s), "setup");
        must(hipMemcpyToSymbol(HIP_SYMBOL(table), t.data(), 200 * sizeof(int)), "table");
        must(hipMemcpyToSymbol(HIP_SYMBOL(table), t.data() + 200, 57 * sizeof(int), 200 * sizeof(int)), "rest of the table");
        apply<<<4, 256>>>(out.data, n, round);
        expect_all("value", out.read(), [&](std::size_t i) {
            return t[i % 257] * s.scale + s.offset + s.code[i % 5] + s.limits[round] + plain[i % 3 * 3 + i / 3 % 3] + "gather"[i % 6];
        });
    }
    return verdict();
}
