// SHA-256 and ChaCha20 with the answers of their standards (FIPS 180-4 examples, RFC 8439 section 2.3.2), many messages at once.
#include "check.hpp"

__constant__ unsigned k[64];
__device__ unsigned right(unsigned v, int by) { return v >> by | v << (32 - by); }
__global__ void sha256(const unsigned char* messages, int length, unsigned* digests, int n) {  // length < 56
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= n) return;
    unsigned w[64];
    for (int i = 0; i < 16; ++i) {
        w[i] = 0;
        for (int b = 0; b < 4; ++b) {
            const int at = i * 4 + b;
            const unsigned byte = at < length ? messages[m * length + at] : at == length ? 0x80U : 0U;
            w[i] |= byte << (24 - 8 * b);
        }
    }
    w[15] = static_cast<unsigned>(length) * 8;
    for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] + (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) + (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
    const unsigned start[8] = {0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU, 0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
    unsigned s[8];
    for (int i = 0; i < 8; ++i) s[i] = start[i];
    for (int i = 0; i < 64; ++i) {
        const unsigned one = s[7] + (right(s[4], 6) ^ right(s[4], 11) ^ right(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        const unsigned two = (right(s[0], 2) ^ right(s[0], 13) ^ right(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; --j) s[j] = s[j - 1];
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; ++i) digests[m * 8 + i] = start[i] + s[i];
}
__device__ void quarter(unsigned& a, unsigned& b, unsigned& c, unsigned& d) {
    a += b, d ^= a, d = right(d, 16);
    c += d, b ^= c, b = right(b, 20);
    a += b, d ^= a, d = right(d, 24);
    c += d, b ^= c, b = right(b, 25);
}
__global__ void chacha(unsigned* out, unsigned first) {
    unsigned x[16] = {0x61707865U, 0x3320646eU, 0x79622d32U, 0x6b206574U};
    for (unsigned i = 0; i < 8; ++i) x[4 + i] = 0x03020100U + 0x04040404U * i;
    x[12] = first + threadIdx.x;
    x[13] = 0x09000000U;
    x[14] = 0x4a000000U;
    x[15] = 0;
    unsigned s[16];
    for (int i = 0; i < 16; ++i) s[i] = x[i];
    for (int r = 0; r < 10; ++r) {
        for (int c = 0; c < 4; ++c) quarter(x[c], x[4 + c], x[8 + c], x[12 + c]);
        for (int c = 0; c < 4; ++c) quarter(x[c], x[4 + (c + 1) % 4], x[8 + (c + 2) % 4], x[12 + (c + 3) % 4]);
    }
    for (int i = 0; i < 16; ++i) out[threadIdx.x * 16 + i] = x[i] + s[i];
}
int main() {
    std::vector<unsigned> constants;  // the fractions of the cube roots of the first 64 primes
    for (int p = 2; constants.size() < 64; ++p) {
        bool prime = true;
        for (int d = 2; d * d <= p; ++d) prime = prime && p % d != 0;
        if (!prime) continue;
        unsigned long long root = 0;  // floor(cube root of p * 2^96)
        for (int bit = 36; bit >= 0; --bit) {
            const unsigned long long next = root | 1ULL << bit;
            using W = unsigned __int128;
            const W square = static_cast<W>(next) * next, limit = static_cast<W>(p) << 96;
            if (square <= limit / next) root = next;
        }
        constants.push_back(static_cast<unsigned>(root));
    }
    must(hipMemcpyToSymbol(HIP_SYMBOL(k), constants.data(), 256), "constants");
    const int n = 100;
    std::vector<unsigned char> messages;
    for (int i = 0; i < n; ++i) messages.insert(messages.end(), {'a', 'b', 'c'});
    messages[3 * 70 + 1] ^= 1;
    Device<unsigned char> d(messages);
    Device<unsigned> digests(n * 8), stream(2 * 16);
    sha256<<<2, 64>>>(d.data, 3, digests.data, n);
    const unsigned abc[8] = {0xba7816bfU, 0x8f01cfeaU, 0x414140deU, 0x5dae2223U, 0xb00361a3U, 0x96177a9cU, 0xb410ff61U, 0xf20015adU};
    const auto got = digests.read();
    for (int m = 0; m < n; ++m)
        for (int i = 0; i < 8; ++i) {
            if (m != 70) expect("sha256", m * 8 + i, got[m * 8 + i], abc[i]);
            else expect("changed", i, got[m * 8 + i] != abc[i], true);
        }
    chacha<<<1, 2>>>(stream.data, 1);
    const unsigned want[16] = {0xe4e7f110U, 0x15593bd1U, 0x1fdd0f50U, 0xc47120a3U, 0xc7f4d1c7U, 0x0368c033U, 0x9aaa2204U, 0x4e6cd4c3U,
                               0x466482d2U, 0x09aa9f07U, 0x05d7c214U, 0xa2028bd9U, 0xd19c12b5U, 0xb94e16deU, 0xe883d0cbU, 0x4e3c50a2U};
    const auto s = stream.read();
    for (int i = 0; i < 16; ++i) expect("chacha", i, s[i], want[i]);
    return verdict();
}
