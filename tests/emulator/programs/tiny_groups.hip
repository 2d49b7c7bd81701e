// Very many workgroups of a few threads, and one thread with a long loop beside them.
#include "check.hpp"

__global__ void small(unsigned* out, unsigned long long* sum) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned v = mixed(i);
    out[i] = v;
    if (threadIdx.x == 0) atomicAdd(sum, static_cast<unsigned long long>(v));
}
__global__ void uneven(unsigned* out) {
    unsigned state = blockIdx.x + 1;
    const unsigned rounds = blockIdx.x == 5 ? 20000 : blockIdx.x % 3;
    for (unsigned k = 0; k < rounds; ++k) next_random(state);
    out[blockIdx.x] = state;
}
int main() {
    const int groups = 9001;
    for (const int threads : {1, 3}) {
        Device<unsigned> out(groups * threads);
        Device<unsigned long long> sum(std::vector<unsigned long long>{0});
        small<<<groups, threads>>>(out.data, sum.data);
        expect_all("value", out.read(), [](std::size_t i) { return mixed(static_cast<unsigned>(i)); });
        unsigned long long want = 0;
        for (int g = 0; g < groups; ++g) want += mixed(static_cast<unsigned>(g * threads));
        expect("sum", threads, sum.read()[0], want);
    }
    Device<unsigned> out(500);
    uneven<<<500, 1>>>(out.data);
    expect_all("uneven", out.read(), [](std::size_t i) {
        unsigned state = static_cast<unsigned>(i) + 1;
        for (unsigned k = 0; k < (i == 5 ? 20000 : i % 3); ++k) next_random(state);
        return state;
    });
    return verdict();
}
