"""A launch ends with its slowest XCD, whichever is timed; where work grows, what is timed stands for more."""

from __future__ import annotations

import pytest

from tests.emulator.recorded_run import HEADER, Run

PROGRAM = (
    HEADER
    + """
__global__ void work(float* out, int shortest, int longest, int heavy, int step) {
  const bool mine = heavy < 0 || blockIdx.x % 6 == heavy;
  const int turns = (mine ? longest : shortest) + blockIdx.x / 6 * step;
  float v = threadIdx.x;
  for (int k = 0; k < turns; ++k) v = v * 0.5f + k;
  out[blockIdx.x * 64 + threadIdx.x] = v;
}
int main() {
  float* out; CHECK(hipMalloc(&out, sizeof(float) * 64 * 12000));
  LAUNCHES
  CHECK(hipDeviceSynchronize());
}
"""
)


def times(run: Run, launches: str) -> list[float]:
    ran = run(PROGRAM.replace("LAUNCHES", launches))
    return [d.end_ns - d.start_ns for d in ran.dispatches()]


@pytest.mark.parametrize("groups", [6, 12000])
def test_a_launch_takes_as_long_as_its_slowest_xcd(run: Run, groups: int) -> None:
    arguments = ("20, 4000, -1", "20, 4000, 0", "20, 4000, 3", "20, 20, -1")
    launches = " ".join(f"work<<<{groups}, 64>>>(out, {said}, 0);" for said in arguments)
    every, first, fourth, none = times(run, launches)
    assert none < 0.5 * every
    assert first == pytest.approx(every, rel=0.1)
    assert fourth == pytest.approx(first, rel=0.25)  # what is not timed is an estimate


@pytest.mark.slow
def test_workgroups_that_are_not_timed_count_by_what_they_execute(run: Run) -> None:
    """More than the model times of one launch; both have the same work in all."""
    even = "work<<<12000, 64>>>(out, 16012, 16012, -1, 0);"
    growing = "work<<<12000, 64>>>(out, 20, 20, -1, 16);"
    alike, uneven = times(run, f"{even} {growing}")
    assert uneven == pytest.approx(alike, rel=0.1)
