// What atomics return: tickets are handed out once each, exchanges lose nothing, inc and dec wrap.
#include "check.hpp"

__global__ void draw(int* counter, unsigned* wrapped, unsigned* down, int* seen, unsigned* turns, unsigned long long* chain) {
    const int ticket = atomicAdd(counter, 1);
    atomicAdd(&seen[ticket], 1);
    const unsigned old = __builtin_amdgcn_atomic_inc32(wrapped, 6U, __ATOMIC_RELAXED, "agent");
    atomicAdd(&turns[old], 1);
    const unsigned before = __builtin_amdgcn_atomic_dec32(down, 9U, __ATOMIC_RELAXED, "agent");
    atomicAdd(&turns[16 + before], 1);
    // A chain of exchanges: every value put in comes out once, the last one stays.
    const unsigned long long mine = blockIdx.x * blockDim.x + threadIdx.x + 1ULL;
    const unsigned long long out = atomicExch(chain, mine);
    atomicAdd(chain + 1, out);
}
int main() {
    const int threads = 96, groups = 21, n = threads * groups;
    Device<int> counter(std::vector<int>{0}), seen(std::vector<int>(n, 0));
    Device<unsigned> wrapped(std::vector<unsigned>{0}), down(std::vector<unsigned>{9}), turns(std::vector<unsigned>(32, 0));
    Device<unsigned long long> chain(std::vector<unsigned long long>{0, 0});
    draw<<<groups, threads>>>(counter.data, wrapped.data, down.data, seen.data, turns.data, chain.data);
    expect("counter", 0, counter.read()[0], n);
    expect_all("ticket", seen.read(), [](std::size_t) { return 1; });
    expect("wrapped", 0, wrapped.read()[0], static_cast<unsigned>(n % 7));
    const auto t = turns.read();
    for (int v = 0; v < 7; ++v) expect("inc", v, t[v], static_cast<unsigned>((n - v + 6) / 7));
    for (int v = 0; v < 10; ++v) expect("dec", v, t[16 + v], static_cast<unsigned>((n - (9 - v) + 9) / 10));
    const auto c = chain.read();
    expect("chain", 0, c[0] + c[1], static_cast<unsigned long long>(n) * (n + 1) / 2);
    return verdict();
}
