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
  MORE
  LAUNCHES
  CHECK(hipDeviceSynchronize());
}
"""
)


TOO_LARGE_TO_KEEP = "void* rest; CHECK(hipMalloc(&rest, 100 << 20));"
MANAGED = "void* rest; CHECK(hipMallocManaged(&rest, 4096));"


def times(run: Run, launches: str, more: str = "") -> list[float]:
    ran = run(PROGRAM.replace("LAUNCHES", launches).replace("MORE", more))
    return [d.end_ns - d.start_ns for d in ran.dispatches()]


@pytest.mark.parametrize("groups", [6, 12000])
def test_a_launch_takes_as_long_as_its_slowest_xcd(run: Run, groups: int) -> None:
    arguments = ("20, 4000, -1", "20, 4000, 0", "20, 4000, 3", "20, 20, -1")
    launches = " ".join(f"work<<<{groups}, 64>>>(out, {said}, 0);" for said in arguments)
    every, first, fourth, none = times(run, launches)
    assert none < 0.5 * every
    assert first == pytest.approx(every, rel=0.1)
    assert fourth == pytest.approx(first, rel=0.25)  # what is not timed is an estimate


@pytest.mark.parametrize("more", [TOO_LARGE_TO_KEEP, MANAGED])
def test_a_first_launch_that_cannot_run_twice_has_an_estimate_and_the_second_a_time(
    run: Run, more: str
) -> None:
    launches = "work<<<1200, 64>>>(out, 20, 400, 3, 0);"
    (known,) = times(run, launches)
    estimate, second = times(run, launches * 2, more)
    assert estimate == pytest.approx(known, rel=0.25)
    assert second == pytest.approx(known, rel=0.1)


def test_short_waves_of_the_timed_xcd_say_little_about_long_ones_of_another(run: Run) -> None:
    """Workgroups of the first XCD do next to nothing: that they wait for arguments is no measure of the others."""
    launches = "work<<<4096, 64>>>(out, 1, 250, 3, 0);"
    (known,) = times(run, launches)
    assert times(run, launches * 2, MANAGED) == pytest.approx([known, known], rel=0.3)


ACCUMULATE = (
    HEADER
    + """
__host__ __device__ int turned(int v, int group) {
  const int turns = group % 6 == 3 ? 500 : 5;
  for (int k = 0; k < turns; ++k) v = v * 3 + k;
  return v;
}
__global__ void work(int* out, int* launches) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = turned(out[i], blockIdx.x);
  if (threadIdx.x == 0) atomicAdd(launches, 1);
}
int main() {
  const int n = 64 * 600;
  int* out; CHECK(hipMalloc(&out, 4 * (n + 1))); CHECK(hipMemset(out, 0, 4 * (n + 1)));
  for (int k = 0; k < 2; ++k) work<<<600, 64>>>(out, out + n);
  std::vector<int> back(n + 1);
  CHECK(hipMemcpy(back.data(), out, 4 * (n + 1), hipMemcpyDeviceToHost));
  int wrong = back[n] != 2 * 600;
  for (int i = 0; i < n; ++i) wrong += back[i] != turned(turned(0, i / 64), i / 64);
  std::printf("%d wrong\\n", wrong);
}
"""
)


def test_a_launch_that_is_timed_twice_has_run_once(run: Run) -> None:
    ran = run(ACCUMULATE)
    first, second = ran.times()
    assert "0 wrong" in ran.stdout
    assert first == pytest.approx(second, rel=0.1)  # so it was the busiest XCD both times


@pytest.mark.slow
def test_workgroups_that_are_not_timed_count_by_what_they_execute(run: Run) -> None:
    """More than the model times of one launch; both have the same work in all."""
    even = "work<<<12000, 64>>>(out, 16012, 16012, -1, 0);"
    growing = "work<<<12000, 64>>>(out, 20, 20, -1, 16);"
    alike, uneven = times(run, f"{even} {growing}")
    assert uneven == pytest.approx(alike, rel=0.1)


COLUMNS = (
    HEADER
    + """
__global__ void gather(float* out, const float* in) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = in[i * (blockIdx.x % 6 == 0 ? 1 : 32)];
}
int main() {
  float *in, *out;
  CHECK(hipMalloc(&in, 4 * 64 * 32 * 600)); CHECK(hipMalloc(&out, 4 * 64 * 600));
  gather<<<600, 64>>>(out, in);
  CHECK(hipDeviceSynchronize());
}
"""
)


def test_requests_of_the_timed_xcd_stand_for_the_lines_of_all(run: Run) -> None:
    """Its workgroups load two lines where the others load 64, in the same instructions: the borders of grids do so."""
    ran = run(COLUMNS)
    (launch,) = ran.dispatches()
    lines = 100 * 2 + 500 * 64
    for counter in ("TCP_TCC_READ_REQ_sum", "TCC_READ_sum", "TCC_EA0_RDREQ_sum"):
        assert launch.counters[counter] == pytest.approx(lines, rel=0.02), counter
    assert launch.counters["TCC_WRITE_sum"] == 600 * 4
    (load,) = (
        i.memory
        for i in ran.instructions()
        if i.memory and i.memory["kind"] == "load" and "l2_hits" in i.memory
    )
    assert load["lines_used"] == lines
    assert load["l1_hits"] + load["l2_hits"] + load["memory_lines"] == pytest.approx(lines)
