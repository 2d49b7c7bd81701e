// Clocks and counters go forward in every wave; sleeping waves and waves of other priority still end.
#include "check.hpp"

__global__ void watch(long long* steps, int* ok) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const long long a = clock64();
    long long worst = 1;
    for (int k = 0; k < 10; ++k) {
        const long long before = clock64();
        __builtin_amdgcn_s_sleep(3);
        __builtin_amdgcn_s_setprio(2);
        worst = min(worst, clock64() - before);
    }
    const long long real = static_cast<long long>(__builtin_amdgcn_s_memrealtime());
    steps[i] = worst;
    ok[i] = clock64() > a && static_cast<long long>(__ockl_steadyctr_u64()) >= real && wall_clock64() >= real;
}
__global__ void numbers(unsigned* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __lane_id() + __builtin_amdgcn_wavefrontsize() * 1000 + __builtin_amdgcn_workgroup_size_x() * 100000;
}
int main() {
    const int n = 3 * 128;
    Device<long long> steps(n);
    Device<int> ok(n);
    Device<unsigned> out(n);
    watch<<<3, 128>>>(steps.data, ok.data);
    expect_all("forward", steps.read(), [](std::size_t) { return 1; });
    expect_all("later", ok.read(), [](std::size_t) { return 1; });
    numbers<<<3, 128>>>(out.data);
    expect_all("number", out.read(), [](std::size_t i) { return static_cast<unsigned>(i % 64) + 64000 + 12800000; });
    return verdict();
}
