"""Timed waves are executed before the clock is there. That must not show where waves wait for each other."""

from __future__ import annotations

from pathlib import Path

from tests.emulator.hip_run import run_hip

# More rounds and accesses than a wave is executed ahead, and waves that fall behind each other between barriers.
ROUNDS = """
__global__ void rounds(const int* in, int* out, int n) {
    __shared__ int shared[256];
    const int t = threadIdx.x;
    int value = in[blockIdx.x * 256 + t];
    for (int k = 0; k < n; ++k) {
        shared[t] = value;
        __syncthreads();
        value = shared[(t + 64) & 255] + shared[t ^ 1];
        if ((t >> 6) == (k & 3))
            for (int i = 0; i < 5; ++i) value += in[(value & 255) + i];
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = value;
}
int main() {
    constexpr int groups = 12, n = 150, size = groups * 256;
    std::vector<int> in(size), expected, got(size);
    for (int i = 0; i < size; ++i) in[i] = i * 7 % 1000;
    expected = in;
    for (int g = 0; g < groups; ++g)
        for (int k = 0; k < n; ++k) {
            const std::vector<int> before(expected.begin() + g * 256, expected.begin() + (g + 1) * 256);
            for (int t = 0; t < 256; ++t) {
                unsigned value = unsigned(before[(t + 64) & 255]) + unsigned(before[t ^ 1]);
                if ((t >> 6) == (k & 3))
                    for (int i = 0; i < 5; ++i) value += unsigned(in[(value & 255) + i]);
                expected[g * 256 + t] = int(value);
            }
        }
    int *a, *b;
    CHECK(hipMalloc((void**)&a, size * 4)); CHECK(hipMalloc((void**)&b, size * 4));
    CHECK(hipMemcpy(a, in.data(), size * 4, hipMemcpyHostToDevice));
    rounds<<<groups, 256>>>(a, b, n);
    CHECK(hipMemcpy(got.data(), b, size * 4, hipMemcpyDeviceToHost));
    std::printf("%s\\n", got == expected ? "right" : "wrong");
}
"""

# The second wave looks into LDS for what the first one puts there, and counts its turns.
WAITING = """
__global__ void waiting(float* out, int* turns) {
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 64) {
        float x = threadIdx.x;
        for (int k = 0; k < 300; ++k) x = x * 0.5f + 1;
        out[threadIdx.x] = x;
        if (threadIdx.x == 0) __hip_atomic_store(&flag, x > 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else {
        int n = 0;
        while (__hip_atomic_load(&flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) ++n;
        turns[threadIdx.x - 64] = n;
    }
}
int main() {
    float* out; int *turns, host;
    CHECK(hipMalloc((void**)&out, 256)); CHECK(hipMalloc((void**)&turns, 256));
    waiting<<<1, 128>>>(out, turns);
    CHECK(hipMemcpy(&host, turns, 4, hipMemcpyDeviceToHost));
    std::printf("%s\\n", host > 5 ? "waited" : "did not");
}
"""


def test_waves_that_meet_at_barriers_exchange_their_values(tmp_path: Path) -> None:
    ran = run_hip(ROUNDS, tmp_path, profile=True)
    assert (ran.stdout, ran.returncode) == ("right\n", 0), ran.stderr


def test_a_wave_that_waits_for_a_value_in_lds_waits_while_the_other_works(tmp_path: Path) -> None:
    ran = run_hip(WAITING, tmp_path, profile=True)
    assert (ran.stdout, ran.returncode) == ("waited\n", 0), ran.stderr
