// Spin locks that lanes, waves and workgroups take in turns: an account per lock, and two locks at once.
#include "check.hpp"

__device__ void lock(int* l) {
    while (atomicCAS(l, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
    __threadfence();
}
__device__ void unlock(int* l) {
    __threadfence();
    atomicExch(l, 0);
}
__global__ void transfer(int* locks, volatile long long* accounts, int count, int rounds) {
    unsigned state = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (int r = 0; r < rounds; ++r) {
        const int from = static_cast<int>(next_random(state) % static_cast<unsigned>(count));
        const int to = static_cast<int>(next_random(state) % static_cast<unsigned>(count));
        const int amount = static_cast<int>(next_random(state) % 100);
        if (from == to) continue;
        for (int lane = 0; lane < 64; ++lane)  // one lane at a time: a lane must not wait for a lock of its own wave
            if (lane == static_cast<int>(__lane_id())) {
                lock(&locks[min(from, to)]);
                lock(&locks[max(from, to)]);
                accounts[from] = accounts[from] - amount;
                accounts[to] = accounts[to] + amount;
                unlock(&locks[max(from, to)]);
                unlock(&locks[min(from, to)]);
            }
    }
}
__global__ void log_entries(int* l, volatile int* length, int* entries) {  // one lane of each wave
    if (threadIdx.x % 64 != 0) return;
    lock(l);
    const int at = *length;
    entries[at] = static_cast<int>(blockIdx.x * 100 + threadIdx.x / 64);
    *length = at + 1;
    unlock(l);
}
int main() {
    const int count = 6, threads = 96, groups = 3, rounds = 4;
    Device<int> locks(std::vector<int>(count, 0)), length(std::vector<int>{0}), entries(40);
    Device<long long> accounts(std::vector<long long>(count, 1000));
    transfer<<<groups, threads>>>(locks.data, accounts.data, count, rounds);
    std::vector<long long> want(count, 1000);
    for (unsigned t = 0; t < static_cast<unsigned>(threads * groups); ++t) {
        unsigned state = t + 1;
        for (int r = 0; r < rounds; ++r) {
            const unsigned from = next_random(state) % count, to = next_random(state) % count, amount = next_random(state) % 100;
            if (from == to) continue;
            want[from] -= amount;
            want[to] += amount;
        }
    }
    expect_all("account", accounts.read(), [&](std::size_t i) { return want[i]; });
    expect_all("lock", locks.read(), [](std::size_t) { return 0; });
    log_entries<<<10, 256>>>(locks.data, length.data, entries.data);
    auto log = entries.read();
    expect("length", 0, length.read()[0], 40);
    std::sort(log.begin(), log.end());
    for (int i = 0; i < 40; ++i) expect("entry", i, log[i], i / 4 * 100 + i % 4);
    return verdict();
}
