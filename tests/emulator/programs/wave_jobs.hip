// Waves with jobs of their own: two fill a ring in LDS, two take from it; flags in LDS, no barrier after the first.
#include "check.hpp"
constexpr int Slots = 4, Tile = 64;
__global__ void ring(const int* in, long long* out, int tiles) {
    __shared__ int data[Slots][Tile];
    __shared__ int full[Slots], taken[Slots];
    if (threadIdx.x < Slots) full[threadIdx.x] = taken[threadIdx.x] = 0;
    __syncthreads();
    const int wave = threadIdx.x / 64, lane = threadIdx.x % 64;
    if (wave < 2) {
        for (int t = wave; t < tiles; t += 2) {
            const int slot = t % Slots, round = t / Slots;
            while (__hip_atomic_load(&taken[slot], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) != round) __builtin_amdgcn_s_sleep(1);
            data[slot][lane] = in[(blockIdx.x * tiles + t) * Tile + lane] * 3 + 1;
            __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
            __builtin_amdgcn_wave_barrier();
            if (lane == 0) __hip_atomic_store(&full[slot], round + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
    } else {
        long long sum = 0;
        for (int t = wave - 2; t < tiles; t += 2) {
            const int slot = t % Slots, round = t / Slots;
            while (__hip_atomic_load(&full[slot], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) != round + 1) __builtin_amdgcn_s_sleep(1);
            sum += (long long)data[slot][(lane + t) % 64] * (t + 1);
            __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
            __builtin_amdgcn_wave_barrier();
            if (lane == 0) __hip_atomic_store(&taken[slot], round + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
        out[(blockIdx.x * 2 + wave - 2) * 64 + lane] = sum;
    }
}
int main() {
    const int blocks = 5, tiles = 37;
    auto in = generate(blocks * tiles * Tile, [](std::size_t i) { return int(mixed(i) % 1000); });
    Device<int> d(in);
    Device<long long> o(blocks * 128);
    ring<<<blocks, 256>>>(d.data, o.data, tiles);
    auto got = o.read();
    for (int b = 0; b < blocks; ++b) for (int w = 0; w < 2; ++w) for (int l = 0; l < 64; ++l) {
        long long sum = 0;
        for (int t = w; t < tiles; t += 2) sum += (in[(b * tiles + t) * Tile + (l + t) % 64] * 3LL + 1) * (t + 1);
        expect("ring", (b * 2 + w) * 64 + l, got[(b * 2 + w) * 64 + l], sum);
    }
    return verdict();
}
