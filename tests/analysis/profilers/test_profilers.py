"""Which profiler is taken, and rocprofv3 driven through a stand-in that replays recorded tables."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import MissingTool, ProgramFailed, UsageError
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.profile import Provenance, Source
from hipscope.analysis.profilers import ProfilerRun, choose_profiler
from hipscope.analysis.profilers.base import program_failed
from hipscope.analysis.profilers.emulator import EmulatorProfiler
from hipscope.analysis.profilers.rocm import RocmProfiler, counter_passes
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Completed
from hipscope.analysis.toolchain.build import BuiltProgram
from hipscope.analysis.toolchain.discovery import Toolchain
from tests.fake_rocprofv3 import Answers, calls, install


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that comes first on PATH."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("ROCPROF_ATT_LIBRARY_PATH", raising=False)
    return directory


def run_of(tmp_path: Path, *command: str) -> ProfilerRun:
    directory = tmp_path / "capture"
    directory.mkdir()
    built = BuiltProgram(
        argv=command or ("/bin/echo", "PASS"), directory=tmp_path, env={}, compile_seconds=0, cached=True,
        code_objects=(), output="",
    )  # fmt: skip
    toolchain = Toolchain(
        kind="rocm", arch="gfx942", version="19", clang=Path("/clang"), objdump=Path("/objdump"),
        offload_bundler=Path("/bundler"), device_lib_path=None, rocm_path=None, include_dirs=(), library_dirs=(),
        flags=(),
    )  # fmt: skip
    return ProfilerRun(built, toolchain, Config(timeout_s=20), "mi300x", 1.0, directory)


def test_without_a_gpu_the_emulator_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hipscope.analysis.profilers._KFD", tmp_path / "no-kfd")
    assert isinstance(choose_profiler("auto"), EmulatorProfiler)


def test_with_a_gpu_and_rocprofv3_the_gpu_is_taken(
    tools: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(tools)
    (tmp_path / "kfd").touch()
    monkeypatch.setattr("hipscope.analysis.profilers._KFD", tmp_path / "kfd")
    assert isinstance(choose_profiler("auto"), RocmProfiler)
    assert isinstance(choose_profiler("emulator"), EmulatorProfiler)


def test_other_names_are_refused() -> None:
    with pytest.raises(UsageError, match="nvidia backend is not available yet"):
        choose_profiler("nvidia")
    with pytest.raises(UsageError, match="unknown backend 'cuda'"):
        choose_profiler("cuda")


def test_no_pass_asks_a_block_for_more_than_it_can_count() -> None:
    counters = [f"SQ_{i}" for i in range(10)] + [f"TCC_{i}" for i in range(6)] + ["GRBM_GUI_ACTIVE"]
    passes = list(counter_passes(counters))
    assert sorted(c for p in passes for c in p) == sorted(counters)
    assert [len([c for c in p if c.startswith("SQ")]) for p in passes] == [8, 2]
    assert [len([c for c in p if c.startswith("TCC")]) for p in passes] == [4, 2]


def test_rocprofv3_gives_a_measured_profile_with_counters(tools: Path, tmp_path: Path) -> None:
    install(tools)
    steps: list[str] = []
    shown = Run(progress=lambda message, _share: steps.append(message))
    run = replace(run_of(tmp_path), run=shown)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert (profile.source, profile.provenance) == (Source.ROCM, Provenance.MEASURED)
    assert profile.tool == "rocprofv3 1.0.0"
    assert profile.program.output == "PASS\n"
    kernel = profile.kernels[0]
    assert [d.time_ns for d in kernel.dispatches] == [8292, 5528, 5488]
    assert kernel.counters["SQ_WAVES"] == 3 * 16384
    assert kernel.counters["TCC_EA0_RDREQ_sum"] > 0
    assert steps[0] == "kernel trace"
    assert calls(tools)[0] == "--kernel-trace --stats"
    assert all(call.startswith("--pmc ") for call in calls(tools)[1:])


def test_a_thread_trace_is_taken_when_its_decoder_is_there(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tools)
    (tmp_path / "librocprof-trace-decoder.so").touch()
    monkeypatch.setenv("ROCPROF_ATT_LIBRARY_PATH", str(tmp_path))
    RocmProfiler().record(run_of(tmp_path))
    assert calls(tools)[-1] == f"--att --att-library-path {tmp_path}"


def test_without_the_decoder_the_profile_says_what_is_missing(tools: Path, tmp_path: Path) -> None:
    install(tools)
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    assert "no cost per line" in (read_capture(run.directory).partial or "")


def test_an_old_rocprofv3_is_asked_for_no_counters(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers(options="--kernel-trace"))
    RocmProfiler().record(run_of(tmp_path))
    assert calls(tools) == ["--kernel-trace --stats"]


def test_a_counter_that_the_gpu_lacks_costs_its_pass_only(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers(refused="TCC_BUBBLE_sum"))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert "failed" in (profile.partial or "")
    assert profile.kernels[0].counters["SQ_WAVES"] == 3 * 16384
    assert "TCC_BUBBLE_sum" not in profile.kernels[0].counters


def test_a_program_that_fails_under_rocprofv3_is_reported(tools: Path, tmp_path: Path) -> None:
    install(tools)
    with pytest.raises(ProgramFailed, match="left with exit code 7"):
        RocmProfiler().record(run_of(tmp_path, "/bin/sh", "-c", "exit 7"))


def test_a_missing_rocprofv3_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="rocprofv3 is not on PATH"):
        RocmProfiler().record(run_of(tmp_path))


def test_a_program_that_the_system_ends_may_have_used_all_memory() -> None:
    def failure(returncode: int) -> ProgramFailed:
        return program_failed(Completed(("app",), returncode, b"", b"", timed_out=False, seconds=1.0), 60)

    killed, crashed = failure(-signal.SIGKILL), failure(-signal.SIGSEGV)
    assert killed.message == "the program was ended by SIGKILL"
    assert killed.hint is not None
    assert "memory" in killed.hint
    assert crashed.hint is None
