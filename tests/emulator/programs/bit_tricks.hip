// Counting, reversing and moving bits, 32 and 64 bits wide, with zero and all-ones among the inputs.
#include "check.hpp"

struct Row { int popcount, popcount_wide, leading, leading_wide, first, first_wide; unsigned reversed, funnel, permuted, field, interleaved; unsigned long long reversed_wide, gray; int absolute, difference; };

__global__ void run(const unsigned long long* in, Row* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned long long w = in[i];
    const unsigned v = static_cast<unsigned>(w), h = static_cast<unsigned>(w >> 32);
    unsigned spread = v & 0xffffU;
    spread = (spread | spread << 8) & 0x00ff00ffU;
    spread = (spread | spread << 4) & 0x0f0f0f0fU;
    spread = (spread | spread << 2) & 0x33333333U;
    spread = (spread | spread << 1) & 0x55555555U;
    out[i] = {static_cast<int>(__popc(v)), static_cast<int>(__popcll(w)), __clz(static_cast<int>(v)), __clzll(static_cast<long long>(w)),
              static_cast<int>(__ffs(v)), static_cast<int>(__ffsll(w)), __brev(v),
              __builtin_amdgcn_alignbit(h, v, w >> 59), __builtin_amdgcn_perm(h, v, 0x05020700U), __builtin_amdgcn_ubfe(v, w >> 61, 11), spread,
              __brevll(w), w ^ w >> 1, abs(static_cast<int>(v)), static_cast<int>(__usad(v, h, 3U))};
}
int main() {
    auto in = generate(500, [](std::size_t i) { return static_cast<unsigned long long>(mixed(i)) << 32 | mixed(i + 777); });
    in[0] = 0;
    in[1] = ~0ULL;
    for (int b = 0; b < 64; ++b) in[2 + b] = 1ULL << b;
    Device<unsigned long long> d(in);
    Device<Row> out(in.size());
    run<<<2, 256>>>(d.data, out.data, static_cast<int>(in.size()));
    const auto got = out.read();
    for (std::size_t i = 0; i < in.size(); ++i) {
        const unsigned long long w = in[i];
        const unsigned v = static_cast<unsigned>(w), h = static_cast<unsigned>(w >> 32);
        int ones = 0, ones_wide = 0, first = 0, first_wide = 0, lead = 32, lead_wide = 64;
        unsigned reversed = 0, spread = 0;
        unsigned long long reversed_wide = 0;
        for (int b = 0; b < 64; ++b)
            if (w >> b & 1) {
                ++ones_wide;
                lead_wide = 63 - b;
                reversed_wide |= 1ULL << (63 - b);
                if (first_wide == 0) first_wide = b + 1;
                if (b >= 32) continue;
                ++ones;
                lead = 31 - b;
                reversed |= 1U << (31 - b);
                if (first == 0) first = b + 1;
                if (b < 16) spread |= 1U << (2 * b);
            }
        const Row& r = got[i];
        expect("popcount", i, r.popcount, ones);
        expect("popcount wide", i, r.popcount_wide, ones_wide);
        expect("leading", i, r.leading, lead);
        expect("leading wide", i, r.leading_wide, lead_wide);
        expect("first", i, r.first, first);
        expect("first wide", i, r.first_wide, first_wide);
        expect("reversed", i, r.reversed, reversed);
        expect("reversed wide", i, r.reversed_wide, reversed_wide);
        expect("interleaved", i, r.interleaved, spread);
        expect("funnel", i, r.funnel, static_cast<unsigned>((static_cast<unsigned long long>(h) << 32 | v) >> (w >> 59)));
        const unsigned byte[8] = {v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24, h & 255, h >> 8 & 255, h >> 16 & 255, h >> 24};
        expect("permuted", i, r.permuted, byte[0] | byte[7] << 8 | byte[2] << 16 | byte[5] << 24);
        expect("field", i, r.field, v >> (w >> 61) & 2047U);
        expect("gray", i, r.gray, w ^ w >> 1);
        expect("absolute", i, r.absolute, static_cast<int>(static_cast<int>(v) < 0 ? 0U - v : v));
        expect("difference", i, r.difference, static_cast<int>((v > h ? v - h : h - v) + 3));
    }
    return verdict();
}
