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


def test_waves_that_meet_at_barriers_exchange_their_values(tmp_path: Path) -> None:
    ran = run_hip(ROUNDS, tmp_path, profile=True)
    assert (ran.stdout, ran.returncode) == ("right\n", 0), ran.stderr
