// A radix-2 FFT in LDS against the definition, and the same butterflies modulo a prime, exactly.
#include "check.hpp"

constexpr unsigned prime = 998244353U;
__host__ __device__ inline unsigned power(unsigned base, unsigned exponent) {
    unsigned long long result = 1, b = base;
    for (; exponent != 0; exponent >>= 1, b = b * b % prime)
        if (exponent & 1U) result = result * b % prime;
    return static_cast<unsigned>(result);
}
__global__ void transform(const double2* in, double2* out, int bits) {
    extern __shared__ double2 v[];
    const unsigned n = 1U << bits, t = threadIdx.x;
    for (unsigned i = t; i < n; i += blockDim.x) v[__brev(i) >> (32 - bits)] = in[blockIdx.x * n + i];
    __syncthreads();
    for (unsigned half = 1; half < n; half *= 2) {
        for (unsigned i = t; i < n / 2; i += blockDim.x) {
            const unsigned k = i % half, low = i / half * 2 * half + k;
            double s, c;
            sincospi(-static_cast<double>(k) / half, &s, &c);
            const double2 a = v[low], b = v[low + half];
            const double2 turned = make_double2(b.x * c - b.y * s, b.x * s + b.y * c);
            v[low] = make_double2(a.x + turned.x, a.y + turned.y);
            v[low + half] = make_double2(a.x - turned.x, a.y - turned.y);
        }
        __syncthreads();
    }
    for (unsigned i = t; i < n; i += blockDim.x) out[blockIdx.x * n + i] = v[i];
}
__global__ void number_transform(const unsigned* in, unsigned* out, int bits) {
    extern __shared__ unsigned w[];
    const unsigned n = 1U << bits, t = threadIdx.x;
    for (unsigned i = t; i < n; i += blockDim.x) w[__brev(i) >> (32 - bits)] = in[i];
    __syncthreads();
    for (unsigned half = 1; half < n; half *= 2) {
        const unsigned root = power(3, (prime - 1) / (2 * half));
        for (unsigned i = t; i < n / 2; i += blockDim.x) {
            const unsigned k = i % half, low = i / half * 2 * half + k, a = w[low];
            const unsigned b = static_cast<unsigned>(static_cast<unsigned long long>(w[low + half]) * power(root, k) % prime);
            w[low] = (a + b) % prime;
            w[low + half] = (a + prime - b) % prime;
        }
        __syncthreads();
    }
    for (unsigned i = t; i < n; i += blockDim.x) out[i] = w[i];
}
int main() {
    const int bits = 7, n = 1 << bits;
    const auto in = generate(2 * n, [](std::size_t i) { return make_double2(mixed(i) % 100 - 50.0, mixed(i + 500) % 100 - 50.0); });
    Device<double2> d(in), out(2 * n);
    transform<<<2, 48, n * sizeof(double2)>>>(d.data, out.data, bits);
    const auto got = out.read();
    for (int block = 0; block < 2; ++block)
        for (int k = 0; k < n; ++k) {
            double re = 0, im = 0;
            for (int i = 0; i < n; ++i) {
                const double angle = -2 * M_PI * ((i * k) % n) / n, c = std::cos(angle), s = std::sin(angle);
                const double2 x = in[block * n + i];
                re += x.x * c - x.y * s;
                im += x.x * s + x.y * c;
            }
            expect("real", block * n + k, got[block * n + k].x, re, 1e-11);
            expect("imaginary", block * n + k, got[block * n + k].y, im, 1e-11);
        }
    const auto numbers = generate(n, [](std::size_t i) { return mixed(i) % prime; });
    Device<unsigned> dn(numbers), on(n);
    number_transform<<<1, 100, n * sizeof(unsigned)>>>(dn.data, on.data, bits);
    const unsigned root = power(3, (prime - 1) / n);
    expect_all("modular", on.read(), [&](std::size_t k) {
        unsigned long long sum = 0;
        for (int i = 0; i < n; ++i) sum += static_cast<unsigned long long>(numbers[i]) * power(root, static_cast<unsigned>(i * k % n)) % prime;
        return static_cast<unsigned>(sum % prime);
    });
    return verdict();
}
