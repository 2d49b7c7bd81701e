// A hash table with open addressing that all threads fill by compare-and-swap, count in, look up and delete from.
#include "check.hpp"

constexpr unsigned slots = 1024, empty = 0xffffffffU, deleted = 0xfffffffeU;
__device__ unsigned find_slot(const unsigned* keys, unsigned key) {
    for (unsigned at = mixed(key) % slots;; at = (at + 1) % slots) {
        if (keys[at] == key) return at;
        if (keys[at] == empty) return empty;
    }
}
__global__ void insert(const unsigned* in, unsigned* keys, unsigned* counts, unsigned* size, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned key = in[i];
    for (unsigned at = mixed(key) % slots;; at = (at + 1) % slots) {
        const unsigned old = atomicCAS(&keys[at], empty, key);
        if (old != empty && old != key) continue;
        if (old == empty) atomicAdd(size, 1U);
        atomicAdd(&counts[at], 1U);
        return;
    }
}
__global__ void remove_odd(unsigned* keys, unsigned* size) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    if (keys[at] < deleted && keys[at] % 2 == 1 && atomicExch(&keys[at], deleted) < deleted) atomicSub(size, 1U);
}
__global__ void look_up(const unsigned* keys, const unsigned* counts, unsigned* out, int n) {
    const unsigned key = blockIdx.x * blockDim.x + threadIdx.x;
    if (key >= static_cast<unsigned>(n)) return;
    const unsigned at = find_slot(keys, key);
    out[key] = at == empty ? 0 : counts[at];
}
int main() {
    const int n = 3000, range = 900;
    const auto in = generate(n, [](std::size_t i) { return mixed(i) % range; });
    std::vector<unsigned> want(range, 0);
    for (const unsigned k : in) ++want[k];
    const unsigned distinct = static_cast<unsigned>(range - std::count(want.begin(), want.end(), 0U));
    Device<unsigned> d(in), keys(std::vector<unsigned>(slots, empty)), counts(std::vector<unsigned>(slots, 0)), size(std::vector<unsigned>{0}), out(range);
    insert<<<12, 256>>>(d.data, keys.data, counts.data, size.data, n);
    look_up<<<4, 256>>>(keys.data, counts.data, out.data, range);
    expect_all("count", out.read(), [&](std::size_t i) { return want[i]; });
    expect("size", 0, size.read()[0], distinct);
    remove_odd<<<4, 256>>>(keys.data, size.data);
    look_up<<<4, 256>>>(keys.data, counts.data, out.data, range);
    unsigned kept = 0;
    for (int i = 0; i < range; i += 2) kept += want[i] != 0;
    expect_all("after delete", out.read(), [&](std::size_t i) { return i % 2 ? 0 : want[i]; });
    expect("size", 1, size.read()[0], kept);
    return verdict();
}
