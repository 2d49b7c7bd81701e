// Single and double precision bit by bit: denormals, infinities, rounding of conversions, scaling, exact remainders.
#include "check.hpp"

__host__ __device__ inline unsigned bits(float f) {
    unsigned u;
    __builtin_memcpy(&u, &f, 4);
    return u;
}
__host__ __device__ inline unsigned long long bits(double d) {
    unsigned long long u;
    __builtin_memcpy(&u, &d, 8);
    return u;
}
__host__ __device__ inline float single(unsigned u) {
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}
__global__ void run(const unsigned* in, unsigned* f, unsigned long long* d, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = single(in[i]), y = single(in[(i + 1) % n]);
    int e = 0;
    const float results[10] = {x + y, x * y, fmaf(x, y, x), floorf(x), rintf(x), truncf(x), copysignf(x, y), frexpf(x, &e), ldexpf(x, -130), sqrtf(fabsf(x))};
    for (int k = 0; k < 10; ++k) f[k * n + i] = bits(results[k]);
    f[10 * n + i] = static_cast<unsigned>(e);
    const double a = x, b = y;
    const double wide[5] = {a, a * b, fma(a, b, -a), floor(a * 0.3), ldexp(a, -900) * 0x1p-160};
    for (int k = 0; k < 5; ++k) d[k * n + i] = bits(wide[k]);
    f[11 * n + i] = bits(static_cast<float>(a * b));
}
int main() {
    auto in = generate(2000, [](std::size_t i) { return mixed(static_cast<unsigned>(i)); });
    const unsigned corners[] = {0, 0x80000000U, 1, 0x80000001U, 0x007fffffU, 0x00800000U, 0x3f800000U, 0xbf800000U, 0x7f7fffffU, 0x7f800000U, 0xff800000U, 0x4b000001U, 0x3f000000U, 0x3fc00000U, 0xc0200000U};
    std::copy(std::begin(corners), std::end(corners), in.begin());
    for (unsigned& u : in)
        if ((u & 0x7f800000U) == 0x7f800000U && (u & 0x7fffffU) != 0) u &= 0xff000000U;  // NaN payloads are the instruction tests' matter
    const int n = static_cast<int>(in.size());
    Device<unsigned> di(in), df(12 * n);
    Device<unsigned long long> dd(5 * n);
    run<<<8, 256>>>(di.data, df.data, dd.data, n);
    const auto f = df.read();
    const auto d = dd.read();
    const auto same = [](const char* what, int i, auto got, auto want_value) {
        if (want_value != want_value) return;  // a NaN
        expect(what, i, got, bits(want_value));
    };
    for (int i = 0; i < n; ++i) {
        const float x = single(in[i]), y = single(in[(i + 1) % n]);
        int e = 0;
        const float results[10] = {x + y, x * y, std::fmaf(x, y, x), std::floor(x), std::rint(x), std::trunc(x), std::copysign(x, y), std::frexp(x, &e), std::ldexp(x, -130), std::sqrt(std::fabs(x))};
        for (int k = 0; k < 10; ++k) same("single", k * n + i, f[k * n + i], results[k]);
        if (std::isfinite(x)) expect("exponent", i, static_cast<int>(f[10 * n + i]), e);
        const double a = x, b = y, wide[5] = {a, a * b, std::fma(a, b, -a), std::floor(a * 0.3), std::ldexp(a, -900) * 0x1p-160};
        for (int k = 0; k < 5; ++k) same("double", k * n + i, d[k * n + i], wide[k]);
        same("narrowed", i, f[11 * n + i], static_cast<float>(a * b));
    }
    return verdict();
}
