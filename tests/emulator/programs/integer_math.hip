// Integer division and remainder of all widths, shifts, bit tricks, 64-bit multiplication.
#include "check.hpp"

template <class T>
__global__ void divide(const T* a, const T* b, T* quotient, T* remainder, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        quotient[i] = a[i] / b[i];
        remainder[i] = a[i] % b[i];
    }
}
template <class T>
void division(const char* name, unsigned seed) {
    const int n = 1000;
    std::vector<T> a(n), b(n);
    unsigned long long x = seed;
    for (int i = 0; i < n; ++i) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        a[i] = static_cast<T>(x >> (i % 40));
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        b[i] = static_cast<T>(x >> (i % 60));
        if (b[i] == 0 || b[i] == static_cast<T>(-1)) b[i] = 7;
    }
    Device<T> da(a), db(b), q(n), r(n);
    divide<T><<<4, 256>>>(da.data, db.data, q.data, r.data, n);
    const auto hq = q.read(), hr = r.read();
    for (int i = 0; i < n; ++i) {
        expect(name, i, hq[i], static_cast<T>(a[i] / b[i]));
        expect(name, i, hr[i], static_cast<T>(a[i] % b[i]));
    }
}

struct Bits {
    unsigned long long product_high, rotated;
    long long signed_high, shifted;
    int popcount, leading, trailing, reversed, popcount64, leading64, trailing64, byte;
};
__host__ __device__ inline unsigned reverse(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= ((x >> i) & 1U) << (31 - i);
    return r;
}
__global__ void bits(const unsigned long long* in, Bits* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned long long x = in[i];
    const unsigned lo = static_cast<unsigned>(x);
    Bits b;
    b.product_high = __umul64hi(x, x ^ 0x123456789abcdefULL);
    b.signed_high = __mul64hi(static_cast<long long>(x), static_cast<long long>(~x));
    b.rotated = (x << (i & 63)) | (x >> ((64 - i) & 63));
    b.shifted = static_cast<long long>(x) >> (i & 63);
    b.popcount = __popc(lo);
    b.leading = __clz(static_cast<int>(lo));
    b.trailing = __ffs(static_cast<int>(lo));
    b.reversed = static_cast<int>(__brev(lo));
    b.popcount64 = __popcll(x);
    b.leading64 = __clzll(static_cast<long long>(x));
    b.trailing64 = __ffsll(static_cast<unsigned long long>(x));
    b.byte = static_cast<int>(__byte_perm(lo, static_cast<unsigned>(x >> 32), 0x3715));
    out[i] = b;
}

int main() {
    division<int>("int", 1);
    division<unsigned>("unsigned", 2);
    division<long long>("long long", 3);
    division<unsigned long long>("unsigned long long", 4);
    division<short>("short", 5);
    division<unsigned char>("unsigned char", 6);

    const int n = 500;
    std::vector<unsigned long long> in(n);
    unsigned long long x = 99;
    for (int i = 0; i < n; ++i) in[i] = (x = x * 6364136223846793005ULL + 1) >> (i % 64);
    in[0] = 0;
    in[1] = ~0ULL;
    Device<unsigned long long> d(in);
    Device<Bits> o(n);
    bits<<<2, 256>>>(d.data, o.data, n);
    const auto out = o.read();
    for (int i = 0; i < n; ++i) {
        const unsigned long long v = in[i];
        const unsigned lo = static_cast<unsigned>(v);
        expect("high", i, out[i].product_high, static_cast<unsigned long long>((static_cast<unsigned __int128>(v) * (v ^ 0x123456789abcdefULL)) >> 64));
        expect("signed high", i, out[i].signed_high, static_cast<long long>((static_cast<__int128>(static_cast<long long>(v)) * static_cast<long long>(~v)) >> 64));
        expect("rotated", i, out[i].rotated, (v << (i & 63)) | (v >> ((64 - i) & 63)));
        expect("shifted", i, out[i].shifted, static_cast<long long>(v) >> (i & 63));
        expect("popcount", i, out[i].popcount, __builtin_popcount(lo));
        expect("leading", i, out[i].leading, lo == 0 ? 32 : __builtin_clz(lo));
        expect("trailing", i, out[i].trailing, __builtin_ffs(static_cast<int>(lo)));
        expect("reversed", i, out[i].reversed, static_cast<int>(reverse(lo)));
        expect("popcount64", i, out[i].popcount64, __builtin_popcountll(v));
        expect("leading64", i, out[i].leading64, v == 0 ? 64 : __builtin_clzll(v));
        expect("trailing64", i, out[i].trailing64, __builtin_ffsll(static_cast<long long>(v)));
        const unsigned long long pair = (v >> 32 << 32) | lo;
        unsigned permuted = 0;
        const int selector[4] = {5, 1, 7, 3};
        for (int k = 0; k < 4; ++k) permuted |= static_cast<unsigned>((pair >> (8 * selector[k])) & 255) << (8 * k);
        expect("byte_perm", i, out[i].byte, static_cast<int>(permuted));
    }
    return verdict();
}
