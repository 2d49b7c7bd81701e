"""What a replay finds in the L2: what the program's launches find there, which is not what its first one finds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.replay.emulator_tool import replay_tool
from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.timed_replay import measure, time_with_constants

LINE = 128  # bytes
PROGRAM = """
#include <hip/hip_runtime.h>
__global__ void smooth(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 255 && i < n - 256) out[i] = 0.5f * in[i - 256] + 0.5f * in[i + 256];
}
int main() {
  const int n = 1 << 16;
  float *a, *b;
  (void)hipMalloc(&a, 4 * n); (void)hipMalloc(&b, 4 * n);
  (void)hipMemset(a, 0, 4 * n); (void)hipMemset(b, 0, 4 * n);
  for (int step = 0; step < 4; ++step) {
    BEFORE_EACH
    smooth<<<n / 256, 256>>>(a, b, n);
    float* old = a; a = b; b = old;
  }
  return hipDeviceSynchronize();
}
"""


@dataclass(frozen=True)
class Recorded:
    """The launches' times in the program, in nanoseconds, and one of them, which can be replayed."""

    launches: list[float]
    dispatch: CapturedDispatch
    session: ProfileSession
    folder: Path

    @property
    def l2_lines(self) -> Path:
        """The file beside the record, which a replay can do without."""
        return self.dispatch.directory / "l2_lines"

    def replayed(self) -> float | str:
        """How long a replay takes, in nanoseconds, or why it does not."""
        tool, device = replay_tool(Config(), self.session.toolchain, self.folder), Config().device
        found = measure(tool, [self.dispatch], None, self.folder / "measured", device, Run())
        if isinstance(found, str):
            return found
        code = self.dispatch.code_object
        again = time_with_constants(tool, self.dispatch, code, self.folder / "again", device, {}, Run())
        assert again == pytest.approx(found.time_ns, abs=1)
        return found.time_ns


def recorded_run(folder: Path, before_each: str = "") -> Recorded:
    (folder / "smooth.hip").write_text(PROGRAM.replace("BEFORE_EACH", before_each))
    options = ProfileOptions(backend="emulator", capture_dispatches=(), waves=False)
    session = profile_project(resolve_project(folder / "smooth.hip", config=Config()), Run(), options=options)
    (kernel,) = session.profile.kernels
    assert session.capture_dir is not None
    dispatch = next(d for d in read_capture_set(session.capture_dir) if not d.variant)
    return Recorded([d.time_ns for d in kernel.dispatches], dispatch, session, folder)


def test_a_replay_finds_what_launches_find_that_follow_others(tmp_path: Path) -> None:
    """The recorded launch is the first, which finds nothing; the third has its buffers in the same places again."""
    found = recorded_run(tmp_path)
    assert found.replayed() == pytest.approx(found.launches[2], abs=1)
    found.l2_lines.unlink()
    empty = found.replayed()
    assert isinstance(empty, float)
    assert empty > 1.1 * found.launches[2]


def test_where_the_host_writes_before_each_launch_a_replay_finds_nothing(tmp_path: Path) -> None:
    found = recorded_run(tmp_path, "(void)hipMemset(a, 0, 4 * n); (void)hipMemset(b, 0, 4 * n);")
    assert found.replayed() == pytest.approx(found.launches[2], abs=1)
    *lines, _ = found.l2_lines.read_text().splitlines()
    kept = {int(line.split()[0]) * LINE for line in lines}  # of the arguments, which no copy goes over
    buffers = found.dispatch.buffers
    assert kept
    assert not any(b.address <= address < b.address + b.size for b in buffers for address in kept)


def test_a_damaged_record_of_the_l2_is_told(tmp_path: Path) -> None:
    found = recorded_run(tmp_path)
    found.l2_lines.write_text(found.l2_lines.read_text()[5:])
    assert "profile the program again" in str(found.replayed())
