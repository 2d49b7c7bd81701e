"""Launches that the program's deadline stopped: a profile extrapolated from what ran, or none if that is unlike."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulator.recorded_run import HEADER, Run

BUSY = (
    HEADER
    + """
__global__ void busy(int* p, int turns, int others) {
  int v = threadIdx.x;
  const int mine = TURNS;
  for (int k = 0; k < mine; ++k) v = v * 3 + p[(v + k) & 63];
  p[64 + threadIdx.x] = v;
}
int main(int count, char** words) {
  int* p; CHECK(hipMalloc(&p, 512)); CHECK(hipMemset(p, 0, 512));
  LAUNCHES
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize()));
}
"""
)


def program(launches: str, turns: str = "turns") -> str:
    return BUSY.replace("LAUNCHES", launches).replace("TURNS", turns)


@pytest.fixture
def whole(run: Run) -> Any:
    """A launch of the same kernel that came to its end."""
    (launch,) = run(program("busy<<<100000, 64>>>(p, 4, 0);")).dispatches()
    return launch


def test_a_launch_that_is_stopped_has_the_time_and_counts_of_all_its_workgroups(run: Run, whole: Any) -> None:
    ran = run(program("busy<<<20000000, 64>>>(p, 4, 0);"), HIPSCOPE_TIME_LIMIT_MS="1500")
    assert ran.stdout == "hipErrorLaunchFailure\n"
    (launch,) = ran.dispatches()
    (fault,) = ran.faults()
    assert (fault.kind, launch.profiled) == ("unfinished", True)
    done, of = launch.stopped
    assert 0 < done < of == 20_000_000
    assert f"{done} of {of} workgroups were done" in fault.message
    assert whole.stopped is None
    times = of / 100_000
    assert launch.end_ns - launch.start_ns == pytest.approx((whole.end_ns - whole.start_ns) * times, rel=0.15)
    assert launch.instructions == pytest.approx(whole.instructions * times, rel=1e-6)
    for name in ("SQ_INSTS_VALU", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_WAVE_CYCLES"):
        assert launch.counters[name] == pytest.approx(whole.counters[name] * times, rel=0.15), name
    # Workgroups that were stopped on their way have executed the beginning only; that must not count for more.
    steps = ran.instructions()
    assert [steps[0].hits, steps[-1].hits] == pytest.approx([of, of], rel=1e-3)
    memory = [i.memory for i in ran.instructions() if i.memory is not None]
    assert any(m["space"] == "global" and m["kind"] == "load" for m in memory)
    assert not any("distinct_lines" in m for m in memory)


def test_a_launch_of_which_no_timed_workgroup_ended_has_no_profile(run: Run) -> None:
    ran = run(program("busy<<<1000, 64>>>(p, 1 << 30, 0);"), HIPSCOPE_TIME_LIMIT_MS="700")
    (launch,) = ran.dispatches()
    assert (launch.profiled, launch.stopped, launch.start_ns) == (False, None, None)


def test_workgroups_that_ended_do_not_stand_for_longer_ones(run: Run) -> None:
    """On the timed XCD (every sixth workgroup) all but the first go on, while those elsewhere end soon."""
    long_ones = "blockIdx.x % 6 == 0 && blockIdx.x > 0 ? others : turns"
    text = program("busy<<<20000000, 64>>>(p, 20, 1 << 30);", long_ones)
    ran = run(text, HIPSCOPE_TIME_LIMIT_MS="1500")
    (launch,) = ran.dispatches()
    assert "not finished within" in ran.stderr
    assert (launch.profiled, launch.stopped) == (False, None)


def test_a_launch_that_is_stopped_after_one_that_ended_is_not_extrapolated(run: Run) -> None:
    ran = run(
        program("busy<<<400000, 64>>>(p, 1, 0); busy<<<400000, 64>>>(p, 200000, 0);"),
        HIPSCOPE_TIME_LIMIT_MS="4000",
    )
    first, second = ran.dispatches()
    assert (first.profiled, second.profiled) == (True, False)
