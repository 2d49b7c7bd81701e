"""From a source file to a profile on the emulator, and what happens when the program does not play along."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed, Cancelled, MissingTool, ProgramFailed, UsageError
from hipscope.analysis.profile import Source
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.amd_gpu import AmdGpus
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.detect.registry import detect_all
from tests.unsaved import unsaved

KERNEL = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void twice(float* data, int count, int last) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i == 7 ? last : i] *= 2.0f;
}
"""
MAIN = """int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 1, last = argc > 2 ? std::atoi(argv[2]) : 7;
  float* p;
  if (hipMalloc(&p, 4096 * sizeof(float)) != hipSuccess) return 9;
  for (int i = 0; i < launches; ++i) twice<<<16, 256>>>(p, 4096, last);
  hipError_t status = hipDeviceSynchronize();
  std::printf("ran with %d arguments: %s\\n", argc, hipGetErrorString(status));
  const char* end = argc > 3 ? argv[3] : "0";
  std::fflush(stdout);
  if (end[0] == 'a') std::abort();
  volatile bool hang = end[0] == 'h';
  while (hang) {}
  return std::atoi(end);
}
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One program for all tests of this file, controlled by its arguments."""
    directory = tmp_path_factory.mktemp("session")
    (directory / "twice.hip").write_text(KERNEL + MAIN)
    return directory


@pytest.fixture
def program(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Arguments: number of launches, where element 7 goes, and how to end: exit code, `abort` or `hang`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "cache"))
    return shared / "twice.hip"


def profile(
    path: Path,
    *arguments: str,
    run: Run | None = None,
    options: ProfileOptions | None = None,
    **config: Any,
) -> ProfileSession:
    settings = Config.model_validate({"backend": "emulator", **config})
    return profile_project(resolve_project(path, arguments, settings), run, options=options)


def captures() -> list[Path]:
    return [d for project in (cache_directory() / "captures").glob("*") for d in project.iterdir()]


def test_a_program_becomes_a_profile(program: Path) -> None:
    session = profile(program, "1")
    kernel = session.profile.kernel("twice(float*, int, int)")
    assert kernel is not None
    assert (kernel.file, kernel.line) == (str(program), 4)
    assert kernel.counters["SQ_WAVES"] == 64
    assert kernel.resources.vgpr_spills == 0
    assert session.profile.program.exit_code == 0
    assert session.profile.program.output == "ran with 2 arguments: no error\n"
    assert session.profile.partial is None
    assert (session.run_dir / "hipscope_kernel_trace.csv").exists()
    assert session.capture_dir is None


def test_a_gpu_that_auto_cannot_use_is_named_in_the_profile(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = AmdGpus(("gfx942",), "/dev/kfd: Permission denied", "log in again")
    monkeypatch.setattr("hipscope.analysis.profilers.find_amd_gpus", lambda *_: gpus)
    automatic = profile(program, "1", backend="auto").profile
    assert automatic.source is Source.EMULATOR
    assert automatic.source_note == (
        "the AMD GPU (gfx942) is not used: /dev/kfd: Permission denied (log in again)"
    )
    assert profile(program, "1", backend="emulator").profile.source_note is None


def test_progress_tells_each_step(program: Path) -> None:
    steps: list[str] = []
    project = resolve_project(program, (), Config(backend="emulator"))
    profile_project(project, Run(progress=lambda message, _share: steps.append(message)))
    assert steps[:3] == ["finding the compiler", "compiling", "running on the emulator"]
    assert steps[-1] == "reading the profile"


def test_launches_beyond_the_first_few_run_plain_but_count(program: Path) -> None:
    session = profile(program, "9", emulator={"profile_launches": 2})
    dispatches = session.profile.kernels[0].dispatches
    assert len(dispatches) == 9
    assert sum(d.profiled for d in dispatches) == 2
    assert len({round(d.time_ns, -2) for d in dispatches[2:]}) == 1


def test_another_device_gives_other_times(program: Path) -> None:
    assert profile(program, device="mi300a").profile.device.compute_units == 228
    assert profile(program, options=ProfileOptions(device="mi300x")).profile.device.compute_units == 304


def test_an_overlay_is_profiled_instead_of_the_file(program: Path) -> None:
    text = program.read_text().replace("*= 2.0f", "*= 3.0f").replace("twice", "thrice")
    session = profile(program, run=unsaved(program, text.encode()))
    assert session.profile.kernel("thrice(float*, int, int)") is not None
    assert "twice" in program.read_text()
    (analysis,) = session.run_dir.rglob("memory_analysis.json")
    assert "*= 3.0f" in analysis.read_text()


@pytest.mark.parametrize("confined", [False, True])
def test_the_programs_own_library_path_stands_behind_the_emulators(
    program: Path, monkeypatch: pytest.MonkeyPatch, *, confined: bool
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/shell")
    printing = program.with_name("printing.hip")
    if not printing.exists():
        printing.write_text(
            "#include <hip/hip_runtime.h>\n#include <cstdio>\n#include <cstdlib>\n__global__ void none() {}\n"
            'int main() { none<<<1, 64>>>(); std::puts(std::getenv("LD_LIBRARY_PATH")); }\n'
        )
    options = ProfileOptions(confined=confined)

    def searched(**env: str) -> list[str]:
        found = profile(printing, options=options, env=env).profile.program.output.strip().split(":")
        return [
            folder for folder in found[1:] if not folder.endswith("/stand_ins")
        ]  # of libraries: behind all

    assert searched(LD_LIBRARY_PATH="/of/the:/settings") == ["/of/the", "/settings"]
    assert searched() == ["/of/the/shell"]


def test_a_rewrites_run_is_timed_and_listed_without_its_instructions(program: Path) -> None:
    usual = profile(program, "2").profile
    rewrite = profile(program, "2", options=ProfileOptions(confined=True)).profile
    assert usual.kernels[0].instructions
    assert rewrite.kernels[0].instructions == ()
    assert rewrite.kernels[0].mangled == usual.kernels[0].mangled
    assert len(rewrite.kernels[0].dispatches) == len(usual.kernels[0].dispatches) == 2
    assert rewrite.kernels[0].time_ns == pytest.approx(usual.kernels[0].time_ns, rel=0.01)
    assert rewrite.program.output == usual.program.output


def test_dispatches_are_recorded_when_asked_for(program: Path) -> None:
    session = profile(program, options=ProfileOptions(capture_dispatches=()))
    assert session.capture_dir is not None
    assert list(session.capture_dir.glob("dispatch_*/meta.json"))


def test_a_failing_self_check_is_profiled_and_reported(program: Path) -> None:
    session = profile(program, "1", "7", "3")
    assert session.profile.program.exit_code == 3
    assert session.profile.kernels


def test_a_crash_after_the_kernels_keeps_their_profile(program: Path) -> None:
    session = profile(program, "1", "7", "abort")
    assert session.profile.program.exit_code == -6
    assert session.profile.kernels[0].counters["SQ_WAVES"] == 64


def test_an_access_out_of_bounds_is_a_fault_at_its_line(program: Path) -> None:
    session = profile(program, "1", "1048576")
    (fault,) = session.profile.faults
    assert "out-of-bounds" in fault.message
    assert fault.kernel == "twice(float*, int, int)"
    assert fault.source[-1].line == 6
    assert "illegal memory access" in session.profile.program.output


def test_a_program_without_kernels_is_an_error_with_its_output(program: Path) -> None:
    with pytest.raises(ProgramFailed, match="the program launched no kernel") as raised:
        profile(program, "0")
    assert "ran with 2 arguments" in raised.value.output
    assert raised.value.exit_code == 4


def test_a_program_that_ends_badly_without_kernels_says_how(program: Path) -> None:
    with pytest.raises(ProgramFailed, match="left with exit code 5"):
        profile(program, "0", "7", "5")
    with pytest.raises(ProgramFailed, match="ended by SIGABRT"):
        profile(program, "0", "7", "abort")


def test_a_program_that_hangs_is_stopped(program: Path) -> None:
    with pytest.raises(ProgramFailed, match="did not end within 1 s, and no kernel had been launched"):
        profile(program, "0", "7", "hang", timeout_s=1.0)


def test_a_program_that_is_stopped_keeps_what_it_has_shown_so_far(program: Path) -> None:
    session = profile(program, "1", "7", "hang", timeout_s=3.0)
    assert session.profile.program.exit_code is None
    assert session.profile.partial == "the program was stopped after 3 s (timeout_s)"
    assert session.profile.kernels[0].counters["SQ_WAVES"] == 64


def test_a_failure_leaves_no_capture_behind(program: Path) -> None:
    before = captures()
    with pytest.raises(ProgramFailed):
        profile(program, "0")
    assert captures() == before


def test_a_syntax_error_is_the_compilers_own_message(program: Path) -> None:
    text = program.read_text().replace("std::abort();", "std::abort()")
    with pytest.raises(BuildFailed) as raised:
        profile(program, run=unsaved(program, text.encode()))
    assert raised.value.diagnostics[0].line == 17
    assert "expected ';'" in raised.value.diagnostics[0].message


def test_cancel_stops_before_the_program_runs(program: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    project = resolve_project(program, (), Config(backend="emulator"))
    before = captures()
    with pytest.raises(Cancelled):
        profile_project(project, Run(cancel))
    assert captures() == before


def test_cancel_stops_a_running_program(program: Path) -> None:
    cancel = threading.Event()
    project = resolve_project(program, ("1", "7", "hang"), Config(backend="emulator"))

    def stop_when_running(message: str, _share: float | None) -> None:
        if message.startswith("running"):
            threading.Timer(0.5, cancel.set).start()

    with pytest.raises(Cancelled):
        profile_project(project, Run(cancel, stop_when_running))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"device": "mi300q"}, "did you mean mi300"),
        ({"arch": "gfx90a"}, "is gfx942; the program is compiled for gfx90a"),
    ],
)
def test_what_cannot_be_profiled_is_refused(config: dict[str, Any], message: str, program: Path) -> None:
    with pytest.raises((UsageError, MissingTool), match=message):
        profile(program, **config)


def test_old_captures_are_removed(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hipscope.analysis.runs.profile_project._IN_USE_SECONDS", -1.0)
    sessions = [profile(program) for _ in range(6)]
    assert [s.run_dir.exists() for s in sessions] == [False, False, True, True, True, True]


WAITS = """
int main() {
  float *p, ms = 0;
  hipEvent_t from, to;
  if (hipMalloc(&p, 4096 * sizeof(float)) != hipSuccess || hipEventCreate(&from) != hipSuccess) return 9;
  if (hipEventCreate(&to) != hipSuccess || hipEventRecord(from) != hipSuccess) return 9;
  int launches = 0;
  for (; ms < 0.35f; ++launches) {
    twice<<<16, 256>>>(p, 4096, 7);
    if (hipEventRecord(to) != hipSuccess || hipEventSynchronize(to) != hipSuccess) return 9;
    if (hipEventElapsedTime(&ms, from, to) != hipSuccess) return 9;
  }
  std::printf("%d launches\\n", launches);
}
"""


def test_without_the_model_launches_are_listed_and_time_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "waits.hip"
    file.write_text(KERNEL + WAITS)
    session = profile(file, options=ProfileOptions(timed=False), timeout_s=60)
    (kernel,) = session.profile.kernels
    assert session.profile.program.exit_code == 0
    assert session.profile.program.output == "4 launches\n"
    assert len(kernel.dispatches) == 4
    assert not kernel.instructions or all(not i.stalls for i in kernel.instructions)


MANY = """#include <hip/hip_runtime.h>
#include <utility>
template <int N> __global__ void scale(float* data) { data[threadIdx.x * N] *= float(N); }
template <int... N> void all(float* data, std::integer_sequence<int, N...>) {
  (scale<N + 1><<<1, 64>>>(data), ...);
}
int main() {
  float* data;
  if (hipMalloc(&data, 64 * 257 * sizeof(float)) != hipSuccess) return 9;
  (void)hipMemset(data, 0, 64 * 257 * sizeof(float));
  all(data, std::make_integer_sequence<int, KERNELS>());
  return hipDeviceSynchronize() == hipSuccess ? 0 : 9;
}
"""


@pytest.mark.slow
def test_the_work_of_a_profile_grows_no_faster_than_its_kernels(tmp_path: Path) -> None:
    def calls(kernels: int) -> int:
        file = tmp_path / f"many_{kernels}.hip"
        file.write_text(MANY.replace("KERNELS", str(kernels)))
        profile(file)  # builds and disassembles, so that the second run's calls are those of the profile
        count = 0

        def counted(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(counted)
        try:
            session = profile(file)
            found = detect_all(session.profile, SourceTexts())
        finally:
            sys.setprofile(None)
        assert len(session.profile.kernels) == kernels
        assert found is not None
        return count

    few, many = calls(32), calls(128)
    assert many < 4 * few  # for four times as many kernels
