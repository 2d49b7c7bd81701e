"""`hipscope doctor --gpu` against a stand-in of rocprofv3; the GPU is the emulator, so both sides agree."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from hipscope.analysis.config import Config
from hipscope.analysis.errors import MissingTool, ProgramFailed
from hipscope.analysis.profile import Profile
from hipscope.analysis.run import Run
from hipscope.analysis.runs import gpu_check
from hipscope.analysis.runs.gpu_check import PROGRAM, GpuCheck, check_gpu
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.system.amd_gpu import AmdGpus
from hipscope.analysis.toolchain.project import Project, resolve_project
from hipscope.emulator.runner import native_library_dir
from hipscope.server.cli.main import app
from hipscope.server.render.doctor import gpu_check_report, render_gpu_check
from tests.analysis.ingest.capture_files import results_json, thread_trace
from tests.analysis.profilers.test_profilers import machine, tools
from tests.fake_rocprofv3 import Answers, install

__all__ = ["tools"]

KERNELS = ["copy_floats", "read_apart", "turn_tiles", "add_up_products", "count_into_bins", "split_lanes"]


@dataclass(frozen=True)
class Recording:
    """The six kernels on the emulator: what the stand-in says of them, and the profile to compare with."""

    answers: Answers
    profile: Profile

    def emulate(self, _project: Project, _run: Run) -> Profile:
        return self.profile


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """The program is compiled once for all tests; their cache is this one."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("LD_LIBRARY_PATH", str(native_library_dir()))
        project = resolve_project(PROGRAM, config=Config())
        session = profile_project(project, Run(), options=ProfileOptions(backend="emulator"))
        capture = session.run_dir
        thread_trace(folder / "waves")
        results_json(folder / "samples.json")
        answers = Answers(
            "7.2",
            trace=str(capture / "hipscope_kernel_trace.csv"),
            table=str(capture / "hipscope_counter_collection.csv"),
            samples=str(folder / "samples.json"),
            waves=str(folder / "waves"),
            idle=True,
        )
        yield Recording(answers, session.profile)


def check(
    recording: Recording, tools: Path, answers: Answers | None = None, *, decoder: bool = True
) -> GpuCheck:
    install(tools, answers or recording.answers)
    root = tools.parent / "machine"
    if not root.exists():
        machine(root)
    if decoder:
        (tools.parent / "lib").mkdir()
        (tools.parent / "lib" / "librocprof-trace-decoder.so").touch()
    return check_gpu(Run(), root, recording.emulate)


def test_all_steps_pass_and_the_kernels_are_compared(recording: Recording, tools: Path) -> None:
    found = check(recording, tools)
    steps = {step.name: step for step in found.steps}
    assert [(s.name, s.said) for s in found.steps if s.status != "ok"] == []
    assert list(steps)[:5] == ["driver", "rocprofv3", "compile", "program", "kernel trace"]
    assert list(steps)[-4:] == [
        "thread trace",
        "samples of program counters (stochastic)",
        "reading",
        "emulator",
    ]
    assert found.works
    trace = steps["kernel trace"]
    assert trace.exit_code == 0
    assert trace.command.endswith(
        "--kernel-trace --memory-copy-trace --hip-runtime-trace "
        "--output-format rocpd -d OUT/kernel_trace -o out_%pid% -- PROGRAM"
    )
    (file,) = trace.files
    assert file.path == "kernel_trace/out_%pid%_results.db"
    assert file.columns[0].startswith("kernels(kind, agent_log_index, queue_id, ")
    assert [kernel.kernel for kernel in found.kernels] != []
    assert sorted(kernel.kernel for kernel in found.kernels) == sorted(KERNELS)
    for kernel in found.kernels:
        assert kernel.measured_ns == pytest.approx(kernel.modelled_ns, rel=0.01)
        assert {c.name for c in kernel.counters} >= {"SQ_WAVES", "SQ_INSTS_VALU"}
        assert all(c.measured == c.modelled for c in kernel.counters)


def test_the_report_is_text_and_json_without_names_and_variables(
    recording: Recording, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "hunter2")
    monkeypatch.setenv("HOME", str(tmp_path))
    fails = {"SQ_WAVES": f"Fatal error: A_TOKEN=hunter2 in {tmp_path}/x of user {getpass.getuser()}"}
    found = check(recording, tools, replace(recording.answers, fails=fails))
    report = gpu_check_report(found)
    (failed,) = [step for step in report.steps if step.status == "failed" and step.name != "reading"]
    assert failed.said == "failed: Fatal error: A_TOKEN=... in ~/x of user USER"
    shown = Console(file=StringIO(), width=200)
    render_gpu_check(found, shown)
    assert "hunter2" not in json.dumps([str(report), report.text])
    assert any("failed: counters of 6 kernels, pass 1 of 4" in line for line in report.text)
    assert any(line.startswith("  count_into_bins ") for line in report.text)


@pytest.mark.parametrize(
    ("changed", "step", "said"),
    [
        ({"broken": "Fatal error: librocprofiler-sdk.so: no such file"}, "kernel trace", "no such file (it fails"),
        ({"fails": {"--kernel-trace": "Unable to open /dev/kfd: Permission denied"}}, "kernel trace", "usermod -aG"),
        ({"trace": ""}, "kernel trace", "the program launched no kernel"),
        (
            {"fails": {"TCC_HIT_sum": "Device 1 could not be locked for profiling due to lack of permissions"}},
            "counters of 6 kernels, pass 1 of 4",
            "CAP_PERFMON",
        ),
        ({"waves": "", "samples": ""}, "thread trace", "is empty"),
        ({"samples": ""}, "samples of program counters (stochastic)", "is empty"),
        (
            {"fails": {"--pc-sampling-method": "Given PC sampling configuration is not supported on any agent"}},
            "samples of program counters (stochastic)",
            "does not sample program counters",
        ),
    ],
)  # fmt: skip
def test_each_failure_is_named_with_its_step(
    recording: Recording, tools: Path, changed: dict[str, Any], step: str, said: str
) -> None:
    found = check(recording, tools, replace(recording.answers, **changed))
    failed = {s.name: s.said for s in found.steps if s.status == "failed"}
    assert said in failed[step]
    assert not found.works
    assert all("\n" not in words for words in failed.values())


def test_what_is_not_installed_is_left_out_and_not_a_failure(recording: Recording, tools: Path) -> None:
    found = check(recording, tools, decoder=False)
    skipped = {s.name: s.said for s in found.steps if s.status == "skipped"}
    assert list(skipped) == ["thread trace"]
    assert "install rocprof-trace-decoder" in skipped["thread trace"]
    found = check(recording, tools, replace(recording.answers, version="6.3"), decoder=False)
    skipped = {s.name: s.said for s in found.steps if s.status == "skipped"}
    assert "came with ROCm 7.0" in skipped["thread trace"]
    assert "came with ROCm 6.4" in skipped["samples"]


def test_a_failed_emulator_costs_the_comparison_only(
    recording: Recording, tools: Path, tmp_path: Path
) -> None:
    def fails(_project: Project, _run: Run) -> Profile:
        raise ProgramFailed("the program left with exit code 7")

    install(tools, recording.answers)
    found = check_gpu(Run(), machine(tmp_path / "machine"), fails)
    assert [s.name for s in found.steps if s.status == "failed"] == ["emulator"]
    assert found.kernels == ()


def test_the_command_prints_it_and_leaves_one_file_to_send(
    recording: Recording, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tools, recording.answers)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gpu_check, "find_amd_gpus", lambda *_: AmdGpus(("gfx942", "gfx942")))
    monkeypatch.setattr(gpu_check, "_emulated", recording.emulate)
    done = CliRunner().invoke(app, ["doctor", "--gpu"])
    assert done.exit_code == 0, done.output
    assert "driver: 2 GPUs: gfx942, gfx942" in done.output
    assert "hipscope-gpu-report.json" in done.output
    report = json.loads((tmp_path / "hipscope-gpu-report.json").read_text())
    assert report["schema"] == "hipscope.gpu_check/1"
    assert report["works"] is True
    assert report["text"][0] == "✓ driver: 2 GPUs: gfx942, gfx942"


def test_without_a_gpu_it_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match="no AMD GPU: the kernel driver of this machine lists none"):
        check_gpu(Run(), tmp_path)


def test_without_rocprofv3_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="rocprofv3 is not on PATH"):
        check_gpu(Run(), machine(tmp_path / "machine"))


def test_gpus_that_a_variable_hides_are_said_to_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "")
    with pytest.raises(MissingTool, match="cannot be used: ROCR_VISIBLE_DEVICES hides every GPU"):
        check_gpu(Run(), machine(tmp_path / "machine"))


def test_a_gpu_that_may_not_be_opened_is_one_line_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match=r"the AMD GPU cannot be used: .*has no render node") as failure:
        check_gpu(Run(), machine(tmp_path / "machine", render=False))
    assert "--device=/dev/dri" in (failure.value.hint or "")
    assert os.linesep not in str(failure.value)
