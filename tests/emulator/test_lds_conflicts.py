"""Bank conflicts in LDS of waves whose lanes follow each other in sixteens only, against those counted by hand."""

from __future__ import annotations

from pathlib import Path

from hipscope.emulator.raw import read_dispatches
from tests.emulator.hip_run import run_hip

# Where each sixteen lanes of a wave begin, in words, how far lanes are apart, and the cycles that conflicts add:
# 32 lanes are served at a time, and each bank gives one word a cycle. One load makes all of these accesses, so that
# each must be told from the one before.
ROUNDS = [
    ((0, 32, 64, 96), 1, 2),
    ((5, 37, 69, 101), 1, 2),
    ((0, 48, 96, 144), 1, 0),
    ((0, 0, 64, 80), 1, 0),
    ((0, 40, 0, 8), 1, 1),
    ((0, 40, 0, 8), 0, 0),
    ((0, 32, 64, 96), 0, 2),
    ((7, 7, 7, 39), 0, 1),
    ((7, 7, 7, 39), 1, 1),
    ((0, 32, 64, 96), 2, 2),
]

PROGRAM = """
__global__ void tile(const int* begin, const int* step, float* out, int n) {
    __shared__ float words[256];
    const int t = threadIdx.x;
    for (int i = t; i < 256; i += 64) words[i] = i;
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += words[begin[4 * k + t / 16] + t % 16 * step[k]];
    out[t] = sum;
}
int main() {
    const std::vector<int> begin{BEGIN}, step{STEP};
    float sum = 0, last;
    for (std::size_t k = 0; k < step.size(); ++k) sum += float(begin[4 * k + 3] + 15 * step[k]);
    int *a, *b; float* out;
    CHECK(hipMalloc((void**)&a, 4096)); CHECK(hipMalloc((void**)&b, 4096)); CHECK(hipMalloc((void**)&out, 256));
    CHECK(hipMemcpy(a, begin.data(), begin.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b, step.data(), step.size() * 4, hipMemcpyHostToDevice));
    tile<<<1, 64>>>(a, b, out, int(step.size()));
    CHECK(hipMemcpy(&last, out + 63, 4, hipMemcpyDeviceToHost));
    std::printf("%s\\n", last == sum ? "right" : "wrong");
}
"""


def test_conflicts_of_lanes_in_sixteens_are_those_of_their_banks(tmp_path: Path) -> None:
    begin = ", ".join(str(word) for words, _, _ in ROUNDS for word in words)
    step = ", ".join(str(step) for _, step, _ in ROUNDS)
    ran = run_hip(PROGRAM.replace("BEGIN", begin).replace("STEP", step), tmp_path, profile=True)
    assert (ran.stdout, ran.returncode) == ("right\n", 0), ran.stderr
    (dispatch,) = read_dispatches(tmp_path / "out")
    assert dispatch.counters["SQ_LDS_BANK_CONFLICT"] == sum(conflicts for _, _, conflicts in ROUNDS)
