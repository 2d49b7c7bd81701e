// Half precision under other values of the MODE register, and the XCD that a workgroup runs on.
//
// The rounding of halves is set behind the compiler's back: it puts it back before each operation that depends on it.
#include "check.hpp"

#define SET_ROUNDING(value) asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), " #value ::: "memory")
constexpr int denormals = 1 | 6 << 6 | 1 << 11, overflow = 1 | 23 << 6, xcc_id = 20 | 3 << 11;  // register, first bit, width less one

template <class T>
__device__ void settle(T& x) {
    asm volatile("" : "+v"(x));
}
__device__ unsigned bits(_Float16 x) { return __builtin_bit_cast(unsigned short, x); }

/// Sum, product and conversion, for values that lie between two halves.
__device__ void compute(_Float16 x, _Float16 y, float wide, unsigned* out) {
    settle(x);
    settle(y);
    settle(wide);
    _Float16 sum = x + y, product = x * y, narrow = static_cast<_Float16>(wide);
    settle(sum);
    settle(product);
    settle(narrow);
    out[0] = bits(sum);
    out[1] = bits(product);
    out[2] = bits(narrow);
}
__global__ void rounding(const float* in, unsigned* out) {
    const _Float16 x = static_cast<_Float16>(in[0]), y = static_cast<_Float16>(in[1]);
    const float wide = in[2];
    compute(x, y, wide, out);
    SET_ROUNDING(1);
    compute(x, y, wide, out + 3);
    SET_ROUNDING(2);
    compute(x, y, wide, out + 6);
    SET_ROUNDING(3);
    compute(x, y, wide, out + 9);
    SET_ROUNDING(0);
}
__global__ void tiny_and_large(const float* in, unsigned* out) {
    _Float16 least = static_cast<_Float16>(in[0]), half = static_cast<_Float16>(in[1]), most = static_cast<_Float16>(in[2]);
    settle(least);
    for (int mode = 0; mode < 4; ++mode) {  // bit 0: operands may be denormal, bit 1: results may
        __builtin_amdgcn_s_setreg(denormals, static_cast<unsigned>(__builtin_amdgcn_readfirstlane(mode)));
        settle(half);
        _Float16 smaller = least * half, larger = (least * half) * static_cast<_Float16>(4);
        settle(smaller);
        settle(larger);
        out[2 * mode] = bits(smaller);
        out[2 * mode + 1] = bits(larger);
    }
    __builtin_amdgcn_s_setreg(denormals, 3);
    __builtin_amdgcn_s_setreg(overflow, 1);
    settle(most);
    _Float16 clamped = most + most;
    settle(clamped);
    __builtin_amdgcn_s_setreg(overflow, 0);
    settle(most);
    _Float16 infinite = most + most;
    settle(infinite);
    out[8] = bits(clamped);
    out[9] = bits(infinite);
}
__global__ void place(unsigned* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = __builtin_amdgcn_s_getreg(xcc_id);
}

int main() {
    // 1 + 2^-11 + 2^-13 lies between two halves, its negative too; a sum, a product and a conversion of that kind.
    const std::vector<float> between = {2048.0F, -1.5F, -(1.0F + 0x1p-11F + 0x1p-13F)};
    Device<float> in(between);
    Device<unsigned> rounded(12);
    rounding<<<1, 1>>>(in.data, rounded.data);
    const auto r = rounded.read();
    // 2048 x -1.5 is a half; 2046.5 lies between 2046 (0x67fe) and 2047 (0x67ff).
    const unsigned sums[] = {0x67fe, 0x67ff, 0x67fe, 0x67fe}, product = 0xea00, narrow[] = {0xbc01, 0xbc00, 0xbc01, 0xbc00};
    for (std::size_t mode = 0; mode < 4; ++mode) {
        expect("sum", mode, r[3 * mode], sums[mode]);
        expect("product", mode, r[3 * mode + 1], product);
        expect("conversion", mode, r[3 * mode + 2], narrow[mode]);
    }
    const std::vector<float> extreme = {0x1p-14F, 0.5F, 65504.0F};
    Device<float> ends(extreme);
    Device<unsigned> found(10);
    tiny_and_large<<<1, 1>>>(ends.data, found.data);
    const auto f = found.read();
    // 2^-15 is denormal: as a result of the first product, as an operand of the second, whose result is 2^-13.
    const unsigned smaller[] = {0, 0, 0x200, 0x200}, larger[] = {0, 0, 0, 0x800};
    for (std::size_t mode = 0; mode < 4; ++mode) {
        expect("denormal result", mode, f[2 * mode], smaller[mode]);
        expect("denormal operand", mode, f[2 * mode + 1], larger[mode]);
    }
    expect("clamped", 0, f[8], 0x7bffU);
    expect("infinite", 0, f[9], 0x7c00U);

    const std::size_t groups = 100;
    Device<unsigned> where(groups);
    place<<<groups, 64>>>(where.data);
    const auto xcd = where.read();
    const unsigned count = *std::max_element(xcd.begin(), xcd.end()) + 1;
    for (std::size_t i = 0; i < groups; ++i) expect("XCD", i, xcd[i], static_cast<unsigned>(i) % count);
    expect("several XCDs", 0, static_cast<unsigned>(count == 1 || count == 6 || count == 8), 1U);
    return verdict();
}
