"""Which profiler is taken, and rocprofv3 driven through a stand-in that replays recorded tables."""

from __future__ import annotations

import errno
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import MissingTool, ProfilerFailed, ProgramFailed, UsageError
from hipscope.analysis.ingest import read_capture
from hipscope.analysis.profile import Provenance, Source
from hipscope.analysis.profilers import ProfilerRun, choose_profiler, emulator
from hipscope.analysis.profilers.base import program_failed
from hipscope.analysis.profilers.emulator import EmulatorProfiler, largest_recording
from hipscope.analysis.profilers.rocm import RocmProfiler
from hipscope.analysis.profilers.rocm_counters import counter_passes, counter_set
from hipscope.analysis.profilers.rocm_failures import known_failure, without_tool_lines
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Completed
from hipscope.analysis.toolchain.build import BuiltProgram
from hipscope.analysis.toolchain.discovery import Toolchain
from tests.fake_rocprofv3 import CAPTURES, Answers, calls, formats, install
from tests.rocprofv3_options import VERSIONS


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
        argv=command or ("/bin/echo", "PASS"), directory=tmp_path, tree=tmp_path, env={},
        compile_seconds=0, cached=True, code_objects=(), output="",
    )  # fmt: skip
    toolchain = Toolchain(
        kind="rocm", arch="gfx942", version="19", clang=Path("/clang"), objdump=Path("/objdump"),
        offload_bundler=Path("/bundler"), device_lib_path=None, rocm_path=None, include_dirs=(), library_dirs=(),
        flags=(),
    )  # fmt: skip
    return ProfilerRun(built, toolchain, Config(timeout_s=20), "mi300x", 1.0, directory)


def machine(root: Path, version: str = "90402", *, render: bool = True) -> Path:
    """The files of a kernel driver with a CPU and one GPU (gfx942) that anybody may use."""
    for name in ("dev/kfd", *(("dev/dri/renderD128",) if render else ())):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    for node, target in enumerate(("0", version)):
        properties = root / f"sys/class/kfd/kfd/topology/nodes/{node}/properties"
        properties.parent.mkdir(parents=True)
        properties.write_text(f"cpu_cores_count 0\ngfx_target_version {target}\n")
    return root


def forbid(monkeypatch: pytest.MonkeyPatch, forbidden: Path) -> None:
    """Make opening a device fail as it does for a user who is not in its group; tests may run as root."""
    real = os.open

    def guarded(path: Path, *arguments: int, **words: int) -> int:
        if Path(path) == forbidden:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *arguments, **words)

    monkeypatch.setattr(os, "open", guarded)


def test_without_a_gpu_the_emulator_is_taken_and_nothing_is_said(tmp_path: Path) -> None:
    choice = choose_profiler("auto", "gfx942", tmp_path)
    assert isinstance(choice.profiler, EmulatorProfiler)
    assert choice.note is None


def test_with_a_gpu_and_rocprofv3_the_gpu_is_taken(tools: Path, tmp_path: Path) -> None:
    install(tools)
    root = machine(tmp_path)
    choice = choose_profiler("auto", "gfx942", root)
    assert isinstance(choice.profiler, RocmProfiler)
    assert choice.note is None
    assert isinstance(choose_profiler("emulator", "gfx942", root).profiler, EmulatorProfiler)


def test_a_gpu_without_rocprofv3_is_not_taken_and_the_reason_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    choice = choose_profiler("auto", "gfx942", machine(tmp_path))
    assert isinstance(choice.profiler, EmulatorProfiler)
    assert choice.note is not None
    assert choice.note.startswith("the AMD GPU (gfx942) is not used: rocprofv3 is not on PATH")


@pytest.mark.parametrize("device", ["dev/kfd", "dev/dri/renderD128"])
def test_a_gpu_that_the_user_may_not_open_is_not_taken(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    install(tools)
    root = machine(tmp_path)
    forbid(monkeypatch, root / device)
    choice = choose_profiler("auto", "gfx942", root)
    assert isinstance(choice.profiler, EmulatorProfiler)
    assert choice.note is not None
    assert f"{root / device}: Permission denied" in choice.note
    assert "usermod -aG render,video" in choice.note
    assert "\n" not in choice.note


def test_one_of_several_render_nodes_is_enough(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tools)
    root = machine(tmp_path)
    (root / "dev/dri/renderD129").touch()
    forbid(monkeypatch, root / "dev/dri/renderD128")
    assert isinstance(choose_profiler("auto", "gfx942", root).profiler, RocmProfiler)


def test_a_container_without_render_nodes_does_not_take_the_gpu(tools: Path, tmp_path: Path) -> None:
    install(tools)
    choice = choose_profiler("auto", "gfx942", machine(tmp_path, render=False))
    assert isinstance(choice.profiler, EmulatorProfiler)
    assert choice.note is not None
    assert "--device=/dev/dri" in choice.note


def test_a_driver_without_a_gpu_is_no_gpu(tools: Path, tmp_path: Path) -> None:
    install(tools)
    choice = choose_profiler("auto", "gfx942", machine(tmp_path, version="0"))
    assert isinstance(choice.profiler, EmulatorProfiler)
    assert choice.note is None


def test_a_gpu_that_the_program_is_not_compiled_for_is_not_taken(tools: Path, tmp_path: Path) -> None:
    install(tools)
    choice = choose_profiler("auto", "gfx942", machine(tmp_path, version="100306"))
    assert isinstance(choice.profiler, EmulatorProfiler)
    assert choice.note is not None
    assert "the AMD GPU (gfx1036) is not used: the program is compiled for gfx942" in choice.note


@pytest.mark.parametrize(
    ("version", "arch"), [("90010", "gfx90a"), ("90500", "gfx950"), ("110501", "gfx1151")]
)
def test_without_a_wanted_architecture_it_is_that_of_the_gpu(
    tools: Path, tmp_path: Path, version: str, arch: str
) -> None:
    install(tools)
    choice = choose_profiler("auto", None, machine(tmp_path, version=version))
    assert isinstance(choice.profiler, RocmProfiler)
    assert (choice.arch, choice.note) == (arch, None)
    assert choose_profiler("rocm", None, tmp_path).arch == arch


@pytest.mark.parametrize(
    ("environment", "arch"),
    [
        ({}, "gfx942"),
        ({"HIP_VISIBLE_DEVICES": "1"}, "gfx90a"),
        ({"ROCR_VISIBLE_DEVICES": "1,0", "HIP_VISIBLE_DEVICES": "1"}, "gfx942"),
        ({"ROCR_VISIBLE_DEVICES": "GPU-00ab"}, "gfx90a"),
        ({"HIP_VISIBLE_DEVICES": "7,1"}, None),
        ({"HIP_VISIBLE_DEVICES": ""}, None),
    ],
)
def test_the_gpu_is_the_first_that_the_program_sees(
    tools: Path, tmp_path: Path, environment: dict[str, str], arch: str | None
) -> None:
    install(tools)
    root = machine(tmp_path)
    second = root / "sys/class/kfd/kfd/topology/nodes/2/properties"
    second.parent.mkdir()
    second.write_text("gfx_target_version 90010\nunique_id 171\n")
    choice = choose_profiler("auto", None, root, environment)
    assert choice.arch == arch
    assert (choice.note is None) is (arch is not None)
    assert arch is not None or "hides every GPU" in (choice.note or "")


def test_settings_that_name_an_architecture_keep_it() -> None:
    assert Config.model_validate({"device": "mi250x"}).wanted_arch is None
    assert Config.model_validate({"device": "mi250x"}).arch == "gfx90a"
    assert Config.model_validate({"arch": "gfx950"}).wanted_arch == "gfx950"
    assert Config().wanted_arch is None


def test_other_names_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown backend 'nvidia'"):
        choose_profiler("nvidia", "gfx942")
    with pytest.raises(UsageError, match="unknown backend 'cuda'"):
        choose_profiler("cuda", "gfx942")


def test_no_pass_asks_a_block_for_more_than_it_can_count() -> None:
    counters = [f"SQ_{i}" for i in range(10)] + [f"TCC_{i}" for i in range(6)] + ["GRBM_GUI_ACTIVE"]
    passes = list(counter_passes(counters))
    assert sorted(c for p in passes for c in p) == sorted(counters)
    assert [len([c for c in p if c.startswith("SQ")]) for p in passes] == [8, 2]
    assert [len([c for c in p if c.startswith("TCC")]) for p in passes] == [4, 2]


def test_rocprofv3_gives_a_measured_profile_with_counters(tools: Path, tmp_path: Path) -> None:
    install(tools)
    steps: list[str] = []
    told: list[str] = []
    shown = Run(progress=lambda message, _share: steps.append(message), tell=told.append)
    run = replace(run_of(tmp_path), run=shown)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert (profile.source, profile.provenance) == (Source.ROCM, Provenance.MEASURED)
    assert profile.tool == "rocprofv3 1.0.0 of ROCm 7.0.0"
    assert profile.program.output == "PASS\n"
    kernel = profile.kernels[0]
    assert [d.time_ns for d in kernel.dispatches] == [8292, 5528, 5488]
    assert kernel.counters["SQ_WAVES"] == 3 * 16384
    assert kernel.counters["TCC_EA0_RDREQ_sum"] > 0
    assert steps[0] == "kernel trace"
    assert told == [
        "the program runs 5 more times: 4 for 49 counters (the hardware counts few at once), 1 for samples"
    ]
    assert "counters of 1 kernels, pass 1 of 4" in steps
    first, *others, last = calls(tools)
    assert first == _TRACE
    assert all(call.startswith("--pmc ") for call in others)
    assert all(call.endswith(" --kernel-include-regex vecCopy") for call in others)
    assert last.startswith(
        "--pc-sampling-beta-enabled --pc-sampling-unit cycles --pc-sampling-method stochastic"
    )


def test_a_thread_trace_is_taken_when_its_decoder_is_there(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tools)
    (tmp_path / "librocprof-trace-decoder.so").touch()
    monkeypatch.setenv("ROCPROF_ATT_LIBRARY_PATH", str(tmp_path))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    traced = [call for call in calls(tools) if call.startswith("--att")]
    first = f"--att --att-library-path {tmp_path} --kernel-include-regex vecCopy"
    # No wave came: other CUs are tried, then samples are taken instead.
    assert traced == [first, *(f"{first} --att-target-cu {unit}" for unit in (0, 2, 3))]
    assert calls(tools)[-1].startswith("--pc-sampling-beta-enabled")
    assert "the thread trace is empty: no wave of the kernel ran on the CUs" in (
        read_capture(run.directory).partial or ""
    )


def test_without_the_decoder_the_profile_says_what_is_missing(tools: Path, tmp_path: Path) -> None:
    install(tools)
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    assert "no cost per line" in (read_capture(run.directory).partial or "")


# The tables that a rocprofv3 of each version writes, and how many waves they count.
_TRACE = "--kernel-trace --memory-copy-trace --hip-runtime-trace"
TABLES = {
    "6.2": ("sdk_6.2/kernel_trace.csv", "sdk_6.2/counter_collection.csv", 65536),
    "6.3": ("sdk_6.3/kernel_trace.csv", "sdk_6.3/counter_collection.csv", 4 * 16384),
    "6.4": ("sdk_6.3/kernel_trace.csv", "sdk_6.3/counter_collection.csv", 4 * 16384),
}
LATER = ("mi300x_trace/ps_file_kernel_trace.csv", "mi300x_vcopy/pmc_perf.csv", 3 * 16384)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_of_rocprofv3_gives_a_trace_and_counters(
    tools: Path, tmp_path: Path, version: str
) -> None:
    trace, table, waves = TABLES.get(version, LATER)
    install(tools, Answers(version, trace=str(CAPTURES / trace), table=str(CAPTURES / table)))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert profile.kernels[0].time_ns > 0
    counted = [kernel.counters["SQ_WAVES"] for kernel in profile.kernels if "SQ_WAVES" in kernel.counters]
    assert max(counted) == waves
    asked, written = calls(tools), formats(tools)
    old = version.startswith("6.")
    assert asked[0] == (f"{_TRACE} --stats" if old else _TRACE)
    passes = 1 if version == "newest" else len(list(counter_passes(counter_set("gfx942"))))
    how = {"6.2": "-i ", "newest": "--replay-mode kernel --kernel-replay-beta-enabled --pmc "}
    assert all(call.startswith(how.get(version, "--pmc ")) for call in asked[1 : 1 + passes])
    assert set(written[: 1 + passes]) == {"csv json" if old else "rocpd"}
    sampled = {"6.2": [], "6.3": [], "6.4": ["host_trap"]}.get(version, ["stochastic"])
    assert [call.split()[4] for call in asked[1 + passes :]] == sampled
    assert written[1 + passes :] == ["csv json" if old else "json"] * len(sampled)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_of_rocprofv3_times_launches(tools: Path, tmp_path: Path, version: str) -> None:
    install(tools, Answers(version, trace=str(CAPTURES / TABLES.get(version, LATER)[0])))
    run = run_of(tmp_path)
    timed = RocmProfiler().time_launches(run)
    assert timed.exit_code == 0
    assert timed.launches
    assert not list(run.directory.iterdir())


def test_only_versions_with_a_thread_trace_are_asked_for_it(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "librocprof-trace-decoder.so").touch()
    monkeypatch.setenv("ROCPROF_ATT_LIBRARY_PATH", str(tmp_path))
    install(tools, Answers("6.4"))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    assert not [call for call in calls(tools) if "--att" in call]
    assert "no cost per line" in (read_capture(run.directory).partial or "")


def test_an_option_that_rocprofv3_refuses_is_not_blamed_on_the_program(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers("6.4", missing=("--stats",)))
    with pytest.raises(ProfilerFailed) as failure:
        RocmProfiler().record(run_of(tmp_path))
    assert failure.value.message.startswith("rocprofv3 itself failed with exit code 2: ")
    assert "unrecognized arguments: --stats" in failure.value.message
    assert "\n" not in str(failure.value)
    assert "--backend emulator" in (failure.value.hint or "")


def test_a_rocprofv3_that_cannot_start_is_not_blamed_on_the_program(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers(broken="Fatal error: librocprofiler-sdk-tool.so: no such file"))
    for ask in (RocmProfiler().record, RocmProfiler().time_launches):
        run = run_of(tmp_path)
        with pytest.raises(ProfilerFailed, match=r"exit code 1: Fatal error: librocprofiler-sdk-tool\.so"):
            ask(run)
        run.directory.rmdir()  # nothing of the attempt is left in it


def test_a_program_that_fails_with_the_same_code_is_still_the_program(tools: Path, tmp_path: Path) -> None:
    install(tools)
    with pytest.raises(ProgramFailed, match="the program left with exit code 2"):
        RocmProfiler().time_launches(run_of(tmp_path, "/bin/sh", "-c", "echo usage; exit 2"))


def test_a_counter_that_the_gpu_lacks_costs_its_pass_only(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers(refused="TCC_BUBBLE_sum"))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert "failed" in (profile.partial or "")
    assert "TCC_BUBBLE_sum" in (profile.partial or "").partition("did not come: ")[2]
    assert profile.kernels[0].counters["SQ_WAVES"] == 3 * 16384
    assert "TCC_BUBBLE_sum" not in profile.kernels[0].counters


@pytest.mark.parametrize(
    ("arch", "has", "lacks"),
    [
        (
            "gfx942",
            {"TCC_EA0_RDREQ_sum", "TCC_BUBBLE_sum", "SQ_INSTS_VALU_MFMA_MOPS_F8"},
            {"TCC_EA_RDREQ_sum", "SQ_INSTS_VALU_MFMA_MOPS_XF32"},
        ),
        (
            "gfx950",
            {"SQ_INSTS_VALU_MFMA_MOPS_F6F4", "SQ_INSTS_VALU_MFMA_MOPS_XF32"},
            {"TCC_EA_RDREQ_sum"},
        ),
        (
            "gfx90a",
            {"TCC_EA_RDREQ_sum", "SQ_INSTS_VALU_MFMA_MOPS_I8"},
            {"TCC_BUBBLE_sum", "SQ_INSTS_VALU_MFMA_MOPS_F8"},
        ),
        ("gfx908", {"TCC_EA_RDREQ_sum"}, {"SQ_INSTS_VALU_ADD_F32", "SQ_INSTS_VALU_MFMA_MOPS_F16"}),
        ("gfx1030", {"GL2C_HIT_sum", "SQ_INSTS_FLAT"}, {"SQ_INSTS_TEX_LOAD"}),
        ("gfx1100", {"GL2C_HIT_sum"}, {"TCC_HIT_sum", "SQ_INSTS_VALU_MFMA_MOPS_F16"}),
    ],
)
def test_each_architecture_is_asked_for_its_own_counters(arch: str, has: set[str], lacks: set[str]) -> None:
    asked = set(counter_set(arch))
    assert has <= asked
    assert not lacks & asked
    assert len(list(counter_passes(counter_set(arch)))) <= 6


def test_the_exit_code_of_the_program_is_no_failed_pass(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers(program_ends_with=1))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert profile.program.exit_code == 1
    assert profile.kernels[0].counters["SQ_WAVES"] == 3 * 16384
    assert "counter pass" not in (profile.partial or "")


def test_a_step_that_does_not_end_costs_that_step_only(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers(slow=("SQ_WAVES",)))
    run = replace(run_of(tmp_path), config=Config(timeout_s=3))
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert "counter pass 1 of 4 did not end within 3 s" in (profile.partial or "")
    assert "SQ_WAVES" not in profile.kernels[0].counters
    assert "SQ_WAVES" in (profile.partial or "").partition("did not come: ")[2]


def test_what_the_tool_says_is_not_the_programs_output(tools: Path, tmp_path: Path) -> None:
    warning = "[rocprofv3] Warning: The following direct rocprofv3 output format(s) are deprecated: CSV."
    install(tools, Answers(says=warning))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    assert read_capture(run.directory).program.output == "PASS\n"
    glog = "W20260101 12:00:00.000001 77 tool.cpp:12] no counters\n"
    assert without_tool_lines(f"{glog}result 1\n[rocprofv3] Warning: x\n") == "result 1\n"


@pytest.mark.parametrize(
    ("text", "said", "fix"),
    [
        ("Unable to open /dev/kfd read-write: Permission denied", "may not open /dev/kfd", "usermod"),
        ("not permitted to collect device counter", "may not read hardware counters", "perf_event_paranoid"),
        (
            "Fatal error: rocprof-trace-decoder library path not found: Decoder library not found",
            "decoder",
            "install",
        ),
        ("HSA_STATUS_ERROR_RESOURCE_BUSY", "another program profiles this GPU", "HIP_VISIBLE_DEVICES"),
        ("F0101 Request exceeds the hardware limits", "do not fit one pass", "left out"),
        ("Unable to find counter TCC_BUBBLE_sum", "a counter is not known on this GPU", "left out"),
        ("PC sampling is not supported on this agent", "does not sample", "MI200"),
        ("Given PC sampling configuration is not supported on any of the agents", "does not sample", "MI200"),
        (
            "E1 Device 3 could not be locked for profiling due to lack of permissions",
            "may not read",
            "CAP_PERFMON",
        ),
        ("Required permission (CAP_PERFMON) is not set, permission denied", "may not read", "CAP_PERFMON"),
        ("Request exceeds the capabilities of the hardware to collect", "do not fit one pass", "left out"),
        ("Metric is not valid for the agent", "a counter is not known", "left out"),
        ("Agent HW architecture is not supported, no counter metrics found.", "has no counters", "newer"),
        ("A service depends on a newer version of KFD (amdgpu kernel driver)", "is older", "amdgpu"),
        (
            "[rocprofv3] Fatal error: rocprof-trace-decoder library path not found in ['x']",
            "decoder",
            "install",
        ),
    ],
)
def test_a_failure_is_one_line_with_its_fix(text: str, said: str, fix: str) -> None:
    line = known_failure(text)
    assert line is not None
    assert said in line
    assert fix in line
    assert known_failure("result 5") is None


def test_a_program_that_fails_under_rocprofv3_is_reported(tools: Path, tmp_path: Path) -> None:
    install(tools)
    with pytest.raises(ProgramFailed, match="left with exit code 7"):
        RocmProfiler().record(run_of(tmp_path, "/bin/sh", "-c", "exit 7"))


def test_a_missing_rocprofv3_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="rocprofv3 is not on PATH"):
        RocmProfiler().record(run_of(tmp_path))


def test_at_the_time_limit_it_is_said_that_no_kernel_had_been_launched() -> None:
    late = Completed(("app",), -9, b"", b"", timed_out=True, seconds=9.0)
    words = "the program did not end within 9 s, and no kernel had been launched and ended by then"
    assert program_failed(late, 9).message == words
    assert program_failed(late, 9, no_kernel=False).message == "the program did not end within 9 s"


def test_a_program_that_the_system_ends_may_have_used_all_memory() -> None:
    def failure(returncode: int) -> ProgramFailed:
        return program_failed(Completed(("app",), returncode, b"", b"", timed_out=False, seconds=1.0), 60)

    killed, crashed = failure(-signal.SIGKILL), failure(-signal.SIGSEGV)
    assert killed.message == "the program was ended by SIGKILL"
    assert killed.hint is not None
    assert "memory" in killed.hint
    assert crashed.hint is None


@pytest.mark.parametrize(
    ("memory", "disk", "expected"),
    [(64, 800, 4), (16, 800, 2), (64, 12, 1.5), (1, 800, 0.5)],
)
def test_what_may_be_recorded_follows_free_memory_and_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, disk: int, expected: float
) -> None:
    monkeypatch.setattr(emulator, "_available_memory", lambda: memory << 30)
    monkeypatch.setattr(emulator, "free_disk", lambda _directory: disk << 30)
    assert largest_recording(tmp_path / "not there yet") == int(expected * 2**30)


def test_free_disk_is_that_of_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    assert emulator.free_disk(tmp_path / "a" / "b") > 0
