"""Launches of one kernel and grid that do different work: which are timed, and what time the others get."""

from __future__ import annotations

import pytest

from hipscope.emulator.launch_times import with_times
from hipscope.emulator.raw import RawDispatch
from tests.emulator.recorded_run import HEADER, Run

CLASSES = (
    HEADER
    + """
__global__ void work(const float* in, float* out, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = in[i];
  for (int k = 0; k < turns; ++k) sum = sum * 0.5f + in[(i + k * 64) & 2047];
  out[i] = sum;
}
int main() {
  float *in, *out; CHECK(hipMalloc(&in, 8192)); CHECK(hipMalloc(&out, 8192));
  for (int k = 0; k < 7; ++k) work<<<32, 64>>>(in, out, 1);
  for (int k = 0; k < 14; ++k) work<<<32, 64>>>(in, out, 400);
  CHECK(hipDeviceSynchronize());
}
"""
)


def test_a_heavy_class_of_launches_behind_small_ones_is_timed_by_itself(run: Run) -> None:
    launches = with_times(run(CLASSES).dispatches(), None).launches
    times = [d.end_ns - d.start_ns for d in launches if d.start_ns is not None and d.end_ns is not None]
    assert len(times) == 21
    assert max(times[:7]) * 5 < min(times[7:])
    assert [d.profiled for d in launches[:7]] == [True] * 4 + [False] * 3
    assert 1 <= sum(d.profiled for d in launches[7:]) <= 4
    assert len({d.scalars for d in launches}) == 2
    assert launches[7].instructions > 50 * launches[0].instructions


def test_launches_that_differ_by_their_data_alone_are_seen_by_their_instructions(run: Run) -> None:
    text = CLASSES.replace(
        "float* out, int turns) {", "float* out, const int* much) {\n  const int turns = *much;"
    )
    text = text.replace(
        "float *in, *out;", "float *in, *out; int *much, one = 1, many = 400; CHECK(hipMalloc(&much, 4));"
    )
    text = text.replace(
        "for (int k = 0; k < 7;",
        "CHECK(hipMemcpy(much, &one, 4, hipMemcpyHostToDevice)); for (int k = 0; k < 7;",
    )
    text = text.replace(
        "for (int k = 0; k < 14;",
        "CHECK(hipMemcpy(much, &many, 4, hipMemcpyHostToDevice)); for (int k = 0; k < 14;",
    )
    text = text.replace("(in, out, 1)", "(in, out, much)").replace("(in, out, 400)", "(in, out, much)")
    found = run(text).dispatches()
    assert len({d.scalars for d in found}) == 1
    assert not found[7].profiled  # nothing tells it from the small ones before it ran
    assert found[8].profiled
    launches = with_times(found, None).launches
    times = [d.end_ns - d.start_ns for d in launches if d.start_ns is not None and d.end_ns is not None]
    assert times[7] == pytest.approx(times[8], rel=0.05)
    assert max(times[:7]) * 5 < min(times[7:])


def launch(number: int, instructions: int, time_ns: float | None = None, scalars: str = "a") -> RawDispatch:
    start = None if time_ns is None else 1000.0 * number
    return RawDispatch(
        id=number, kernel="k", code_object="", grid=(64, 1, 1), workgroup=(64, 1, 1), dynamic_lds=0,
        start_ns=start, end_ns=None if start is None else start + (time_ns or 0), profiled=time_ns is not None,
        counters={}, resources={}, bound_by="", busy={}, waves=1, occupancy_waves_per_simd=None,
        instructions=instructions, scalars=scalars,
    )  # fmt: skip


def test_a_launch_takes_the_mean_of_those_that_did_as_much() -> None:
    found = with_times([launch(1, 100, 30), launch(2, 100, 50), launch(3, 1000, 400), launch(4, 100)], None)
    assert found.launches[3].end_ns == (found.launches[3].start_ns or 0) + 40
    assert found.unlike == 0


def test_a_launch_unlike_any_is_scaled_by_its_instructions_and_counted() -> None:
    found = with_times([launch(1, 100, 30), launch(2, 5000), launch(3, 100)], None)
    times = [(d.end_ns or 0) - (d.start_ns or 0) for d in found.launches]
    assert times == [30, 1500, 30]
    assert (found.unlike, found.least, found.most) == (1, 50, 50)


def test_the_same_scalar_arguments_count_more_than_other_launches() -> None:
    timed = [launch(1, 100, 30, "a"), launch(2, 110, 90, "b")]
    times = [
        (d.end_ns or 0) - (d.start_ns or 0)
        for d in with_times([*timed, launch(3, 110, None, "b")], None).launches
    ]
    assert times[2] == 90


def test_recorded_runs_of_before_have_no_instructions_and_take_the_mean() -> None:
    found = with_times([launch(1, 0, 30), launch(2, 0, 50), launch(3, 0)], None)
    assert (found.launches[2].end_ns or 0) - (found.launches[2].start_ns or 0) == 40


def test_a_shape_that_was_never_timed_has_no_time() -> None:
    assert with_times([launch(1, 100)], None).launches[0].start_ns is None
    assert with_times([launch(1, 100)], 7.0).launches[0].end_ns == 7.0


CHAIN = (
    HEADER
    + """
__global__ void chain(const int* next, int* out, int steps) {
  int at = threadIdx.x;
  for (int k = 0; k < steps; ++k) at = next[at];
  out[threadIdx.x] = at;
}
int main() {
  int *next, *out; CHECK(hipMalloc(&next, 4096)); CHECK(hipMalloc(&out, 4096));
  CHECK(hipMemset(next, 0, 4096));
  chain<<<1, 64>>>(next, out, STEPS);
  CHECK(hipDeviceSynchronize());
}
"""
)


@pytest.mark.parametrize(("steps", "least", "most"), [(0, 0.8, 1.0), (1, 0.8, 1.0), (40, 0.1, 0.6)])
def test_a_launch_that_waits_for_memory_once_is_near_the_shortest_one_and_a_chain_is_not(
    run: Run, steps: int, least: float, most: float
) -> None:
    launch = run(CHAIN.replace("STEPS", str(steps))).dispatches()[0]
    assert least <= launch.busy["round_trip"] <= most
    assert launch.busy["round_trip"] > launch.busy["launch"]
