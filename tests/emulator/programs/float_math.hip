// The device's math library against the host's: single and double precision.
#include "check.hpp"

constexpr int functions = 24;
template <class T>
__device__ T call(int which, T x, T y) {
    switch (which) {
        case 0: return sin(x);
        case 1: return cos(x);
        case 2: return tan(x);
        case 3: return exp(x * T(0.01));
        case 4: return log(fabs(x) + T(0.5));
        case 5: return sqrt(fabs(x));
        case 6: return x / y;
        case 7: return pow(fabs(x) + T(0.1), y * T(0.01));
        case 8: return atan2(x, y);
        case 9: return tanh(x * T(0.1));
        case 10: return erf(x * T(0.1));
        case 11: return cbrt(x);
        case 12: return fmod(x, y);
        case 13: return hypot(x, y);
        case 14: return exp2(x * T(0.1));
        case 15: return log2(fabs(x) + T(1));
        case 16: return log10(fabs(x) + T(1));
        case 17: return asin(x / (fabs(x) + T(1)));
        case 18: return acos(x / (fabs(x) + T(1)));
        case 19: return floor(x) + ceil(y) * T(0.5) + trunc(x) * T(0.25) + rint(y) * T(0.125);
        case 20: return T(1) / sqrt(fabs(x) + T(0.01));
        case 21: return tgamma(fabs(y) * T(0.02) + T(0.5));
        case 22: return fma(x, y, T(1));
        default: return ldexp(x, 5) + expm1(y * T(0.001)) + log1p(fabs(x));
    }
}
template <class T>
__global__ void evaluate(const T* x, const T* y, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int f = 0; f < functions; ++f) out[f * n + i] = call<T>(f, x[i], y[i]);
}
template <class T>
T host(int which, T x, T y) {
    const long double a = x, b = y;
    switch (which) {
        case 0: return std::sin(a);
        case 1: return std::cos(a);
        case 2: return std::tan(a);
        case 3: return std::exp(static_cast<long double>(x * T(0.01)));
        case 4: return std::log(static_cast<long double>(std::fabs(x) + T(0.5)));
        case 5: return std::sqrt(std::fabs(x));
        case 6: return x / y;
        case 7: return std::pow(static_cast<long double>(std::fabs(x) + T(0.1)), static_cast<long double>(y * T(0.01)));
        case 8: return std::atan2(a, b);
        case 9: return std::tanh(static_cast<long double>(x * T(0.1)));
        case 10: return std::erf(static_cast<long double>(x * T(0.1)));
        case 11: return std::cbrt(a);
        case 12: return std::fmod(x, y);
        case 13: return std::hypot(a, b);
        case 14: return std::exp2(static_cast<long double>(x * T(0.1)));
        case 15: return std::log2(static_cast<long double>(std::fabs(x) + T(1)));
        case 16: return std::log10(static_cast<long double>(std::fabs(x) + T(1)));
        case 17: return std::asin(static_cast<long double>(x / (std::fabs(x) + T(1))));
        case 18: return std::acos(static_cast<long double>(x / (std::fabs(x) + T(1))));
        case 19: return std::floor(x) + std::ceil(y) * T(0.5) + std::trunc(x) * T(0.25) + std::rint(y) * T(0.125);
        case 20: return T(1) / std::sqrt(static_cast<long double>(std::fabs(x) + T(0.01)));
        case 21: return std::tgamma(static_cast<long double>(std::fabs(y) * T(0.02) + T(0.5)));
        case 22: return std::fma(x, y, T(1));
        default: return std::ldexp(a, 5) + std::expm1(static_cast<long double>(y * T(0.001))) + std::log1p(std::fabs(a));
    }
}
template <class T>
void all(const char* name, double tolerance) {
    const int n = 640;
    std::vector<T> x(n), y(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<T>((i - 320) * 0.3137 + 0.01);
        y[i] = static_cast<T>(((i * 37) % 641 - 320) * 0.217 + 0.003);
    }
    x[5] = static_cast<T>(123456.789);   // needs argument reduction
    x[6] = static_cast<T>(-9.87654321e10);
    x[7] = static_cast<T>(1e-30);
    Device<T> dx(x), dy(y), out(static_cast<std::size_t>(n) * functions);
    evaluate<T><<<(n + 127) / 128, 128>>>(dx.data, dy.data, out.data, n);
    const auto got = out.read();
    for (int f = 0; f < functions; ++f) {
        for (int i = 0; i < n; ++i) {
            char label[64];
            std::snprintf(label, sizeof label, "%s function %d of %g, %g", name, f, static_cast<double>(x[i]), static_cast<double>(y[i]));
            const T want = host<T>(f, x[i], y[i]);
            const double slack = f == 2 ? tolerance * (1 + static_cast<double>(want) * static_cast<double>(want)) : tolerance;
            expect(label, i, got[static_cast<std::size_t>(f) * n + i], want, slack);
        }
    }
}
int main() {
    all<float>("float", 2e-6);
    all<double>("double", 1e-14);
    return verdict();
}
