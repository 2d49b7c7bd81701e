"""Barriers over the whole grid in profiled launches, where workgroups that are not timed have to arrive as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.emulator.raw import read_dispatches
from tests.emulator.hip_run import run_hip

ROUNDS = """
#include <hip/hip_cooperative_groups.h>
__global__ void rounds(int* sum, int* seen, int n) {
    auto grid = cooperative_groups::this_grid();
    for (int k = 0; k < n; ++k) {
        atomicAdd(sum, 1);
        grid.sync();
        const int all = __hip_atomic_load(sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        if (all == (k + 1) * (int)grid.size()) atomicAdd(seen, 1);
        grid.sync();
    }
}
int main() {
    int *counters, n = 20, host[2];
    CHECK(hipMalloc((void**)&counters, 8)); CHECK(hipMemset(counters, 0, 8));
    int* seen = counters + 1;
    void* args[] = {&counters, &seen, &n};
    CHECK(hipLaunchCooperativeKernel((void*)rounds, dim3(GROUPS), dim3(64), args, 0, 0));
    CHECK(hipMemcpy(host, counters, 8, hipMemcpyDeviceToHost));
    std::printf("%d %d\\n", host[0] / GROUPS / 64, host[1] / GROUPS / 64);
}
"""


@pytest.mark.parametrize("groups", [2, 6, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_profiled_grid_barrier_opens(groups: int, threads: int, tmp_path: Path) -> None:
    ran = run_hip(f"#define GROUPS {groups}\n{ROUNDS}", tmp_path, profile=True, threads=threads)
    assert (ran.stdout, ran.returncode) == ("20 20\n", 0), ran.stderr


FENCED = """
#include <hip/hip_cooperative_groups.h>
__global__ void rounds(float* out, int n) {
    for (int k = 0; k < n; ++k) {
        out[blockIdx.x * 256 + threadIdx.x] += 1;
        cooperative_groups::this_grid().sync();
    }
}
int main() {
    float* out; int n = ROUNDS;
    CHECK(hipMalloc((void**)&out, 64 * 256 * 4));
    void* args[] = {&out, &n};
    CHECK(hipLaunchCooperativeKernel((void*)rounds, dim3(64), dim3(256), args, 0, 0));
    CHECK(hipDeviceSynchronize());
}
"""


def test_a_grid_barrier_is_waited_for_no_longer_than_its_last_wave_takes(tmp_path: Path) -> None:
    """Waves look at different times whether it has opened: those that looked early may be at the next one by then."""
    times = []
    for rounds in (1, 5):
        folder = tmp_path / str(rounds)
        folder.mkdir()
        assert run_hip(FENCED.replace("ROUNDS", str(rounds)), folder, profile=True).returncode == 0
        (dispatch,) = read_dispatches(folder / "out")
        assert dispatch.start_ns is not None
        assert dispatch.end_ns is not None
        times.append(dispatch.end_ns - dispatch.start_ns)
    fence_ns = 8100 / 2.1
    assert times[1] - times[0] < 4 * 1.5 * fence_ns
