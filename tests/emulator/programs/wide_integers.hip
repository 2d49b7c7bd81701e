// Arithmetic wider than the hardware: 64-bit products, quotients and shifts, 128 bits, factorials in many words.
#include "check.hpp"

using U = unsigned long long;
using W = unsigned __int128;
struct Row { U high, quotient, rest, shifted, middle, wide_low, wide_high; long long signed_high, signed_quotient; };

__global__ void run(const U* a, const U* b, Row* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const U x = a[i], y = b[i] | 1;
    const W product = static_cast<W>(x) * y, wide = (product >> (y % 100)) + (static_cast<W>(y) << (x % 64)) - x;
    out[i] = {__umul64hi(x, y), x / y, x % y, x << (y % 64) | x >> (63 - y % 64), static_cast<U>(product >> 32), static_cast<U>(wide), static_cast<U>(wide >> 64),
              __mul64hi(static_cast<long long>(x), static_cast<long long>(y)), static_cast<long long>(x) / (static_cast<long long>(y) >> 20 | 1)};
}
__global__ void factorial(unsigned* words, int count) {  // thread t has (t + 1)! in `count` words
    unsigned* own = words + threadIdx.x * count;
    own[0] = 1;
    for (int k = 1; k < count; ++k) own[k] = 0;
    for (unsigned f = 2; f <= threadIdx.x + 1; ++f) {
        U carry = 0;
        for (int k = 0; k < count; ++k) {
            carry += static_cast<U>(own[k]) * f;
            own[k] = static_cast<unsigned>(carry);
            carry >>= 32;
        }
    }
}
int main() {
    const int n = 600;
    const auto make = [](unsigned salt) {
        return generate(n, [salt](std::size_t i) {
            const U v = static_cast<U>(mixed(i + salt)) << 32 | mixed(i * 3 + salt);
            return i % 5 == 0 ? v >> (i % 60) : i % 7 == 0 ? ~U{0} - i : v;
        });
    };
    const auto a = make(1), b = make(100000);
    Device<U> da(a), db(b);
    Device<Row> out(n);
    run<<<3, 200>>>(da.data, db.data, out.data, n);
    const auto got = out.read();
    for (int i = 0; i < n; ++i) {
        const U x = a[i], y = b[i] | 1;
        const W product = static_cast<W>(x) * y, wide = (product >> (y % 100)) + (static_cast<W>(y) << (x % 64)) - x;
        expect("high", i, got[i].high, static_cast<U>(product >> 64));
        expect("quotient", i, got[i].quotient, x / y);
        expect("rest", i, got[i].rest, x % y);
        expect("shifted", i, got[i].shifted, x << (y % 64) | x >> (63 - y % 64));
        expect("middle", i, got[i].middle, static_cast<U>(product >> 32));
        expect("wide low", i, got[i].wide_low, static_cast<U>(wide));
        expect("wide high", i, got[i].wide_high, static_cast<U>(wide >> 64));
        const auto s = static_cast<long long>(x), t = static_cast<long long>(y);
        expect("signed high", i, got[i].signed_high, static_cast<long long>((static_cast<__int128>(s) * t) >> 64));
        expect("signed quotient", i, got[i].signed_quotient, s / (t >> 20 | 1));
    }
    const int count = 12;
    Device<unsigned> words(70 * count);
    factorial<<<1, 70>>>(words.data, count);
    const auto f = words.read();
    for (unsigned t = 0; t < 70; ++t)
        for (const U p : {1000003ULL, 4294967291ULL}) {  // the digits modulo a prime against the product modulo it
            U want = 1, value = 0;
            for (unsigned k = 2; k <= t + 1; ++k) want = want * k % p;
            for (int k = count - 1; k >= 0; --k) value = static_cast<U>(((static_cast<W>(value) << 32) + f[t * count + k]) % p);
            expect("factorial", t, value, want);
        }
    return verdict();
}
