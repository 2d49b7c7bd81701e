// Workgroups hand data to each other while both run: rings with head and tail counters, and a chain of stages.
#include "check.hpp"

constexpr int capacity = 8;
struct Ring { unsigned long long item[capacity]; unsigned head, tail; };

__device__ unsigned read(unsigned* p) { return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT); }
__device__ void write(unsigned* p, unsigned v) { __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); }

/// Group 0 fills ring 0, group g moves from ring g - 1 to ring g and changes what it moves, the last group adds up.
__global__ void pipeline(Ring* rings, int items, unsigned long long* result) {
    if (threadIdx.x != 0) return;
    const int g = blockIdx.x, last = gridDim.x - 1;
    unsigned long long sum = 0;
    for (int i = 0; i < items; ++i) {
        unsigned long long value = static_cast<unsigned long long>(i);
        if (g > 0) {
            Ring& in = rings[g - 1];
            while (read(&in.head) == static_cast<unsigned>(i)) {}
            value = in.item[i % capacity] * 3 + static_cast<unsigned>(g);
            write(&in.tail, i + 1);
        }
        if (g < last) {
            Ring& out = rings[g];
            while (i - read(&out.tail) == capacity) {}
            out.item[i % capacity] = value;
            write(&out.head, i + 1);
        } else {
            sum = sum * 7 + value;
        }
    }
    if (g == last) *result = sum;
}
/// Two waves of one workgroup through LDS, all lanes at once.
__global__ void waves(const int* in, int* out, int rounds) {
    __shared__ int slot[2][64];
    __shared__ int ready;
    const int lane = threadIdx.x % 64;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
        if (threadIdx.x < 64) {
            while (__hip_atomic_load(&ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) < 2 * r) {}
            slot[r % 2][lane] = in[r * 64 + lane] + r;
            __hip_atomic_store(&ready, 2 * r + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        } else {
            while (__hip_atomic_load(&ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) < 2 * r + 1) {}
            out[r * 64 + lane] = slot[r % 2][63 - lane] * 2;
            __hip_atomic_store(&ready, 2 * r + 2, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
    }
}
int main() {
    const int groups = 7, items = 60;
    Device<Ring> rings(std::vector<Ring>(groups, Ring{}));
    Device<unsigned long long> result(1);
    pipeline<<<groups, 64>>>(rings.data, items, result.data);
    unsigned long long want = 0;
    for (unsigned long long i = 0; i < items; ++i) {
        unsigned long long value = i;
        for (unsigned g = 1; g < groups; ++g) value = value * 3 + g;
        want = want * 7 + value;
    }
    expect("pipeline", 0, result.read()[0], want);
    const int rounds = 9;
    const auto in = generate(rounds * 64, [](std::size_t i) { return static_cast<int>(mixed(i) % 1000); });
    Device<int> d(in), out(in.size());
    waves<<<1, 128>>>(d.data, out.data, rounds);
    expect_all("waves", out.read(), [&](std::size_t i) { return (in[i / 64 * 64 + 63 - i % 64] + static_cast<int>(i / 64)) * 2; });
    return verdict();
}
