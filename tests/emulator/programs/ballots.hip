// Ballots, votes and lane counts inside nested branches and loops of different lengths.
#include "check.hpp"

__global__ void vote(const unsigned* in, unsigned long long* masks, int* ranks, int* rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = __lane_id();
    const unsigned v = in[i];
    unsigned long long mask = __ballot(v & 1U);
    if (v % 3 == 0) mask ^= __ballot(v & 2U) << 1;
    else if (v % 3 == 1) mask += __ballot(1);
    masks[i] = mask;
    ranks[i] = __popcll(__ballot(v & 4U) & ((1ULL << lane) - 1)) + 100 * __any(v == 17) + 200 * __all(v < 1000);
    int count = 0;
    for (unsigned k = 0; k < v % 11; ++k) count += __popcll(__ballot(1));
    rounds[i] = count;
}
int main() {
    const int n = 4 * 192;
    const auto in = generate(n, [](std::size_t i) { return mixed(static_cast<unsigned>(i)) % 997; });
    Device<unsigned> d(in);
    Device<unsigned long long> masks(n);
    Device<int> ranks(n), rounds(n);
    vote<<<4, 192>>>(d.data, masks.data, ranks.data, rounds.data);
    const auto m = masks.read();
    const auto r = ranks.read(), c = rounds.read();
    for (int first = 0; first < n; first += 64) {
        unsigned long long odd = 0, two = 0, four = 0, third = 0;
        bool any = false;
        for (int l = 0; l < 64; ++l) {
            const unsigned v = in[first + l];
            odd |= static_cast<unsigned long long>(v & 1U) << l;
            if (v % 3 == 0 && (v & 2U)) two |= 1ULL << l;
            if (v % 3 == 1) third |= 1ULL << l;
            if (v & 4U) four |= 1ULL << l;
            any = any || v == 17;
        }
        for (int l = 0; l < 64; ++l) {
            const unsigned v = in[first + l];
            const unsigned long long want = v % 3 == 0 ? odd ^ (two << 1) : v % 3 == 1 ? odd + third : odd;
            expect("mask", first + l, m[first + l], want);
            expect("rank", first + l, r[first + l], __builtin_popcountll(four & ((1ULL << l) - 1)) + (any ? 100 : 0) + 200);
            int rounds_wanted = 0;
            for (unsigned k = 0; k < v % 11; ++k)
                for (int o = 0; o < 64; ++o) rounds_wanted += in[first + o] % 11 > k;
            expect("rounds", first + l, c[first + l], rounds_wanted);
        }
    }
    return verdict();
}
