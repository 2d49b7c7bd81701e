// IEEE division and square root are exact on the device: every corner of the scaling sequences, bit for bit.
#include "check.hpp"

#include <cstring>

template <class T>
__global__ void divide(const T* v, T* quotient, T* root, int n) {
    const int i = blockIdx.x, j = threadIdx.x;
    if (j < n) quotient[i * n + j] = v[i] / v[j];
    if (i == 0 && j < n) root[j] = sqrt(v[j]);
}
template <class T, class U>
void all(const char* name, const std::vector<T>& v) {
    const int n = static_cast<int>(v.size());
    Device<T> d(v), q(static_cast<std::size_t>(n) * n), r(n);
    divide<T><<<n, 256>>>(d.data, q.data, r.data, n);
    const auto quotient = q.read(), root = r.read();
    const auto same = [&](T got, T want, double a, double b) {
        U x, y;
        std::memcpy(&x, &got, sizeof x);
        std::memcpy(&y, &want, sizeof y);
        if (x == y || (got != got && want != want)) return;
        if (++failures <= 10) std::printf("%s %a, %a: got %a, want %a\n", name, a, b, static_cast<double>(got), static_cast<double>(want));
    };
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) same(quotient[static_cast<std::size_t>(i) * n + j], v[i] / v[j], v[i], v[j]);
        same(root[i], std::sqrt(v[i]), v[i], 0);
    }
}
template <class T>
std::vector<T> values(int low, int high, T smallest, T largest) {
    std::vector<T> v{T(0), T(-0.0), T(1), T(-1), T(3), T(INFINITY), T(-INFINITY), T(NAN), smallest, largest, T(0.1), T(1) / T(3)};
    unsigned x = 12345;
    while (v.size() < 200) {
        x = x * 1664525U + 1013904223U;
        const int e = low + static_cast<int>((x >> 8) % static_cast<unsigned>(high - low));
        x = x * 1664525U + 1013904223U;
        v.push_back(static_cast<T>(std::ldexp(1.0 + (x >> 4) * 0x1p-28, e)) * ((x & 1U) != 0 ? 1 : -1));
    }
    return v;
}
int main() {
    all<float, unsigned>("float", values<float>(-149, 128, 1e-45F, 3.4028234663852886e38F));
    all<double, unsigned long long>("double", values<double>(-1074, 1023, 5e-324, 1.7976931348623157e308));
    return verdict();
}
