// 8-bit floats: every code to f32, f32 to codes with rounding, packed and single forms.
#include "check.hpp"

__global__ void widen(float* fp8, float* bf8) {
    const int i = threadIdx.x;
    fp8[i] = __builtin_amdgcn_cvt_f32_fp8(i, 0);
    bf8[i] = __builtin_amdgcn_cvt_f32_bf8(i << 16, 2);
}
__global__ void narrow(const float* in, int* fp8, int* bf8, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    fp8[i] = __builtin_amdgcn_cvt_pk_fp8_f32(in[i], -in[i], 0, false);
    bf8[i] = __builtin_amdgcn_cvt_pk_bf8_f32(in[i], -in[i], 0, true);
}
double value(int code, int mantissa, int bias) {
    if (code == 0x80) return NAN;
    const int e = (code & 0x7f) >> mantissa, m = code & ((1 << mantissa) - 1);
    const double v = e == 0 ? std::ldexp(m, 1 - bias - mantissa) : std::ldexp(m + (1 << mantissa), e - bias - mantissa);
    return (code & 0x80) != 0 ? -v : v;
}
int nearest(double x, int mantissa, int bias) {  // the code whose value is nearest, even on a tie
    int best = 0;
    for (int code = 0; code < 128; ++code) {
        const double d = std::fabs(value(code, mantissa, bias) - std::fabs(x)), b = std::fabs(value(best, mantissa, bias) - std::fabs(x));
        if (d < b || (d == b && code % 2 == 0)) best = code;
    }
    return best == 0 ? 0 : best | (x < 0 ? 0x80 : 0);
}
int main() {
    Device<float> f(256), b(256);
    widen<<<1, 256>>>(f.data, b.data);
    const auto hf = f.read(), hb = b.read();
    for (int i = 0; i < 256; ++i) {
        expect("fp8", i, static_cast<double>(hf[static_cast<std::size_t>(i)]), value(i, 3, 8));
        expect("bf8", i, static_cast<double>(hb[static_cast<std::size_t>(i)]), value(i, 2, 16));
    }
    const int n = 500;
    std::vector<float> in(n);
    for (int i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(std::ldexp(1.0 + (i * 37 % 64) / 64.0, i % 18 - 12)) * (i % 2 == 0 ? 1 : -1);
    in[0] = 0;
    Device<float> d(in);
    const std::vector<int> zeros(n);
    Device<int> pf(zeros), pb(zeros);
    narrow<<<2, 256>>>(d.data, pf.data, pb.data, n);
    const auto hpf = pf.read(), hpb = pb.read();
    for (int i = 0; i < n; ++i) {
        const std::size_t s = static_cast<std::size_t>(i);
        const double x = static_cast<double>(in[s]);
        expect("to fp8", s, hpf[s], nearest(x, 3, 8) | nearest(-x, 3, 8) << 8);
        expect("to bf8", s, static_cast<int>(static_cast<unsigned>(hpb[s]) >> 16), nearest(x, 2, 16) | nearest(-x, 2, 16) << 8);
    }
    return verdict();
}
