"""Long launches on a part of the device: the same ranking as in full, for a small part of the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.replay.emulator_tool import replay_tool
from hipscope.accordo.replay.replay import ReplayRequest, ReplayTool, replay
from hipscope.analysis.config import Config
from hipscope.analysis.profile import Kernel
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import constants_of_part
from hipscope.formulas.judge.timed_replay import Part, PartPlan, measure, measure_part, plan_part

DEVICE = Config().device
PROGRAM = """
#include <hip/hip_runtime.h>
template <int N> __global__ void walk(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  #pragma unroll N
  for (int k = 0; k < 512; ++k) sum += in[(i + 4096 * k) & (n - 1)];
  out[i] = sum;
}
__global__ void take(int* next, float* out) { out[atomicAdd(next, 1)] = 1; }
int main() {
  const int n = 1 << 17, groups = 1216;
  float *a, *b; int* next;
  (void)hipMalloc(&a, 4 * n); (void)hipMalloc(&b, 4 * n); (void)hipMalloc(&next, 4);
  (void)hipMemset(a, 0x3f, 4 * n); (void)hipMemset(b, 0, 4 * n); (void)hipMemset(next, 0, 4);
  walk<1><<<groups, 64>>>(a, b, n);
  walk<8><<<groups, 64>>>(a, b, n);
  take<<<groups, 64>>>(next, b);
  return hipDeviceSynchronize();
}
"""


@dataclass(frozen=True)
class Recorded:
    """The launches of the program, and what replays them."""

    launches: dict[str, CapturedDispatch]
    tool: ReplayTool
    kernels: dict[str, Kernel]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("part")
    (folder / "walk.hip").write_text(PROGRAM)
    options = ProfileOptions(backend="emulator", capture_dispatches=(), waves=False)
    session = profile_project(resolve_project(folder / "walk.hip", config=Config()), Run(), options=options)
    assert session.capture_dir is not None
    names = {k.mangled: k.name.removeprefix("void ").split("(")[0] for k in session.profile.kernels}
    found = {names[d.kernel]: d for d in read_capture_set(session.capture_dir) if not d.variant}
    tool = replay_tool(Config(), session.toolchain, folder)
    return Recorded(found, tool, {names[k.mangled]: k for k in session.profile.kernels})


def on_part(recorded: Recorded, name: str, folder: Path) -> Part:
    constants = constants_of_part(DEVICE)
    assert constants is not None
    plan = PartPlan((recorded.launches[name],), constants)
    part = measure_part(recorded.tool, plan, folder / name, DEVICE, Run())
    assert part is not None
    return part


def test_a_part_ranks_as_the_whole_device_does(recorded: Recorded, tmp_path: Path) -> None:
    whole, part = [], []
    for name in ("walk<1>", "walk<8>"):
        found = measure(
            recorded.tool, [recorded.launches[name]], None, tmp_path / f"{name}_whole", DEVICE, Run()
        )
        assert not isinstance(found, str)
        whole.append(found.time_ns)
        small = on_part(recorded, name, tmp_path).before
        part.append(small.time_ns)
        assert small.kernel.counters["SQ_INSTS"] == pytest.approx(found.kernel.counters["SQ_INSTS"], rel=0.02)
    assert whole[0] / whole[1] > 1.5
    assert part[0] / part[1] == pytest.approx(whole[0] / whole[1], rel=0.1)
    assert part[0] == pytest.approx(whole[0], rel=0.1)


@pytest.mark.parametrize(("name", "all_run"), [("walk<1>", False), ("take", True)])
def test_where_the_order_of_workgroups_counts_all_of_them_run(
    recorded: Recorded, tmp_path: Path, name: str, *, all_run: bool
) -> None:
    dispatch = recorded.launches[name]
    request = ReplayRequest(dispatch, dispatch.code_object, tmp_path / "out", profile=True, timed_only=True)
    left = replay(recorded.tool, request)
    assert left.status == "ok"
    assert all(left.image(buffer) == buffer.after() for buffer in dispatch.buffers) is all_run


@pytest.mark.parametrize(
    ("name", "instructions", "part"), [("walk<1>", 1e6, False), ("walk<1>", 1e9, True), ("take", 1e9, False)]
)
def test_launches_that_are_short_or_in_order_are_timed_in_full(
    recorded: Recorded, name: str, instructions: float, *, part: bool
) -> None:
    kernel = recorded.kernels[name].model_copy(update={"counters": {"SQ_INSTS": instructions}})
    launch = recorded.launches[name]
    found = plan_part(DEVICE, [launch], [kernel])
    constants = constants_of_part(DEVICE)
    assert constants is not None
    assert found == (PartPlan((launch,), constants) if part else None)


@pytest.mark.parametrize(
    ("name", "nanoseconds", "ranked_on"),
    [
        ("walk<1>", (10, 20, 200), [2]),
        ("walk<1>", (100, 90, 110), [2, 0]),
        ("take", (10, 20, 200), [2]),
        ("take", (10, 10, 2000), None),  # what is left out takes no time
    ],
)
def test_variants_are_ranked_on_the_launches_that_take_half_of_the_time(
    recorded: Recorded, name: str, nanoseconds: tuple[int, ...], ranked_on: list[int] | None
) -> None:
    kernel, launch = recorded.kernels[name], recorded.launches[name]
    (only,) = kernel.dispatches
    launches = [replace(launch, id=n) for n in range(len(nanoseconds))]
    dispatches = tuple(
        only._replace(id=n, start_ns=0.0, end_ns=float(time)) for n, time in enumerate(nanoseconds)
    )
    known = kernel.model_copy(update={"counters": {"SQ_INSTS": 2e9}, "dispatches": dispatches})
    found = plan_part(DEVICE, launches, [known])
    assert (None if found is None else [d.id for d in found.launches]) == ranked_on
    assert found is None or bool(found.constants) is (name == "walk<1>")
