"""The HSA tools library and the GPU replayer, over a runtime whose one GPU is the emulator's engine.

What stands in is the outermost part only (hsa/fake_runtime.cpp): the tool is loaded by HSA_TOOLS_LIB, changes the API
tables and sees real packets with real code objects.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.replay.gpu_tool import gpu_capture_environment, gpu_replay_tool
from hipscope.accordo.replay.replay import Replay, ReplayRequest, ReplayTool, replay
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.captures import seal
from hipscope.emulator.runner import native_library_dir, replay_executable

HERE = Path(__file__).parents[1] / "hsa"
STAND_INS = native_library_dir().parent / "test"

pytestmark = pytest.mark.skipif(
    not Path("/usr/include/hsa/hsa_api_trace.h").exists() and not STAND_INS.exists(),
    reason="the HSA headers are not installed",
)


@dataclass(frozen=True)
class Ran:
    """One run of the host program under the tool."""

    exit_code: int
    stderr: str
    dispatches: tuple[CapturedDispatch, ...]

    def one(self, kernel: str) -> CapturedDispatch:
        """The only recorded dispatch of a kernel."""
        (found,) = [d for d in self.dispatches if d.kernel == kernel]
        return found


def _compile(source: Path, out: Path) -> Path:
    compiler = find_toolchain(Config()).clang
    flags = [
        "-x",
        "hip",
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        "--offload-arch=gfx942",
        "-nogpulib",
    ]
    command = [str(compiler), *flags, "-nogpuinc", "-O2", "-o", str(out), str(source)]
    subprocess.run(command, check=True, timeout=120)
    return out


@pytest.fixture(scope="module")
def code_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels of kernels.hip."""
    return _compile(HERE / "kernels.hip", tmp_path_factory.mktemp("hsa") / "kernels.co")


def _stand_in_environment() -> dict[str, str]:
    objdump = find_toolchain(Config()).objdump
    return {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(STAND_INS), "FAKE_HSA_OBJDUMP": str(objdump)}


@pytest.fixture
def run(code_object: Path, tmp_path: Path) -> Callable[..., Ran]:
    """Run a scenario of the host program and read what was recorded."""

    def call(scenario: str, env: Mapping[str, str] | None = None, **options: object) -> Ran:
        out = tmp_path / "capture"
        asked = gpu_capture_environment(out, **options)  # type: ignore[arg-type]
        done = subprocess.run(
            [str(STAND_INS / "hsa_host_program"), str(code_object), scenario],
            env={**_stand_in_environment(), **asked, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
        )
        recorded = read_capture_set(out) if out.exists() else ()
        return Ran(done.returncode, done.stderr, recorded)

    return call


def _floats(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.frombuffer(data, dtype=np.float32)


def test_a_launch_in_the_middle_of_a_batch_is_recorded_with_interior_pointers(
    run: Callable[..., Ran],
) -> None:
    """Given three launches in one batch, only the first of each shape is recorded, with the memory it saw."""
    ran = run("batch")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert [d.kernel for d in ran.dispatches] == ["copy", "scale"]
    scale = ran.one("scale")
    assert scale.complete
    assert (scale.grid, scale.workgroup) == ((256, 1, 1), (64, 1, 1))
    source, target = scale.buffers
    assert source.arguments == ((0, 64),)  # sixteen floats into the allocation
    assert np.array_equal(_floats(target.after()), 3 * _floats(source.before())[16:])
    assert np.array_equal(_floats(target.before()), np.arange(256, dtype=np.float32))
    assert scale.scalar(3) == 256


def test_memory_that_only_other_memory_points_to_is_recorded(run: Callable[..., Ran]) -> None:
    """A table of rows is followed; an allocation that was never seen is found through the runtime; variables count."""
    ran = run("table")
    assert ran.exit_code == 0
    gather = ran.one("gather")
    assert sorted(b.size for b in gather.buffers) == [24, 1024, 1024, 1024, 1024]
    (unseen,) = [b for b in gather.buffers if b.arguments == ((1, 0),)]
    assert _floats(unseen.after())[0] == 308
    assert [v.symbol for v in gather.variables] == ["calls"]
    assert (gather.directory / "global_0.before").read_bytes() == bytes(4)
    assert (gather.directory / "global_0.after").read_bytes() == (1).to_bytes(4, "little")


def test_two_queues_are_recorded_at_once(run: Callable[..., Ran]) -> None:
    """Each of four shapes is recorded once, whichever queue was first, and both queues' results are right."""
    ran = run("queues")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert sorted(d.grid[0] for d in ran.dispatches) == [64, 128, 192, 256]
    for d in ran.dispatches:
        source, target = d.buffers
        n = d.grid[0]
        assert np.array_equal(_floats(target.after())[:n], 2 * _floats(source.before())[:n])


def test_several_launches_of_a_shape_are_recorded_when_asked(run: Callable[..., Ran]) -> None:
    """`per_shape` counts launches of the same kernel and shape; `kernels` picks by name."""
    ran = run("table", per_shape=2)
    assert [d.id for d in ran.dispatches] == [1, 2]
    assert run("batch", kernels=("nothing",)).dispatches == ran.dispatches


def test_work_that_never_ends_before_a_launch_is_named_and_nothing_hangs(run: Callable[..., Ran]) -> None:
    """The host opens the gate only after the doorbell: a tool that waits for ever would stop the program."""
    ran = run("blocked", timeout_s=0.5)
    assert ran.exit_code == 0
    assert ran.dispatches == ()
    assert (
        ran.stderr
        == "hipscope: launch 1 of scale is not recorded: the work before it did not end within 500 ms\n"
    )


def test_a_launch_that_does_not_end_is_recorded_without_a_result(run: Callable[..., Ran]) -> None:
    """The spinning kernel needs the host, which waits in the doorbell: after the time it goes on."""
    ran = run("slow", timeout_s=0.5)
    assert ran.exit_code == 0
    spin = ran.one("spin")
    assert not spin.complete
    assert spin.reason == "the launch did not end within 500 ms"


def test_memory_over_the_limit_makes_a_launch_incomplete(run: Callable[..., Ran]) -> None:
    """It says so; what fits is there."""
    ran = run("batch", max_bytes=1200)
    assert ran.exit_code == 0
    scale = ran.one("scale")
    assert scale.reason == "not all memory that the arguments reach was recorded: the limit is 1200 bytes"
    assert len(scale.buffers) == 1


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FAKE_HSA_AMD_TABLE_MAJOR", "2", "AMD extension table is version 2 with"),
        (
            "HIPSCOPE_CAPTURE_PER_SHAPE",
            "many",
            "HIPSCOPE_CAPTURE_PER_SHAPE must be a whole number, not 'many'",
        ),
        ("HIPSCOPE_CAPTURE", "/dev/null/x", "nothing is recorded"),
    ],
)
def test_a_tool_that_cannot_work_leaves_the_program_alone(
    run: Callable[..., Ran], variable: str, value: str, message: str
) -> None:
    """An unknown table layout, a bad setting, a folder that cannot be made: one line, and the program's own result."""
    ran = run("batch", env={variable: value})
    assert ran.exit_code == 0
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert ran.dispatches == ()


def test_newer_tables_have_their_mapped_memory_followed() -> None:
    """The headers here do not have the calls of virtual memory: the hooks are tried on a table that has."""
    done = subprocess.run([str(STAND_INS / "vmm_check")], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")


def _on_the_gpu(dispatch: CapturedDispatch, code: Path, out: Path, **options: int) -> Replay:
    tool = gpu_replay_tool(timeout_s=20)
    tool = ReplayTool(tool.argv, env=_stand_in_environment(), timeout_s=tool.timeout_s)
    return replay(tool, ReplayRequest(dispatch, code, out, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("scenario", "kernel"), [("batch", "scale"), ("table", "gather")])
def test_a_recorded_launch_gives_the_same_memory_on_the_gpu_and_on_the_emulator(
    run: Callable[..., Ran], tmp_path: Path, scenario: str, kernel: str
) -> None:
    """Pointers inside buffers stay right, since every buffer lies where it was."""
    dispatch = run(scenario).one(kernel)
    gpu = _on_the_gpu(dispatch, dispatch.code_object, tmp_path / "gpu")
    assert (gpu.status, gpu.message) == ("ok", "")
    assert gpu.time_ns is not None
    assert gpu.time_ns > 0
    emulator = ReplayTool((str(replay_executable()), "--objdump", str(find_toolchain(Config()).objdump)))
    modelled = replay(emulator, ReplayRequest(dispatch, dispatch.code_object, tmp_path / "emulator"))
    assert modelled.status == "ok"
    for buffer in dispatch.buffers:
        assert gpu.image(buffer) == buffer.after() == modelled.image(buffer)


def test_a_changed_kernel_shows_in_the_replay(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Another code object with the same signature runs on the recorded memory."""
    dispatch = run("batch").one("scale")
    text = (HERE / "kernels.hip").read_text().replace("by * in[i]", "by + in[i]")
    (tmp_path / "changed.hip").write_text(text)
    changed = _compile(tmp_path / "changed.hip", tmp_path / "changed.co")
    done = _on_the_gpu(dispatch, changed, tmp_path / "out")
    assert done.status == "ok"
    source, target = dispatch.buffers
    assert np.array_equal(_floats(done.image(target)), 3 + _floats(source.before())[16:])


def test_a_replay_that_does_not_end_is_a_timeout(run: Callable[..., Ran], tmp_path: Path) -> None:
    """The recorded flag is 0: on its own, the kernel spins for ever."""
    spin = run("slow", timeout_s=0.5).one("spin")
    tool = ReplayTool(gpu_replay_tool().argv, env=_stand_in_environment(), timeout_s=1)
    done = replay(tool, ReplayRequest(spin, spin.code_object, tmp_path / "out"))
    assert (done.status, done.message) == ("timeout", "it did not end within 1 s")


def test_an_address_that_is_taken_is_refused(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A buffer that cannot lie where it was would leave wrong pointers: no result at all is better."""
    dispatch = run("batch").one("scale")
    meta = json.loads((dispatch.directory / "meta.json").read_text())
    meta["buffers"][0]["address"] = 0x10000
    (dispatch.directory / "meta.json").write_text(json.dumps(meta))
    seal(dispatch.directory)
    done = _on_the_gpu(dispatch, dispatch.code_object, tmp_path / "out")
    assert done.status == "launch_error"
    assert done.message == "the captured address 0x10000 is taken in this process; record the program again"


def test_a_machine_without_a_gpu_is_told_so(run: Callable[..., Ran], tmp_path: Path) -> None:
    """No HSA runtime, or one that is too old: one line, no crash."""
    dispatch = run("batch").one("scale")
    done = replay(gpu_replay_tool(), ReplayRequest(dispatch, dispatch.code_object, tmp_path / "out"))
    assert done.status == "launch_error"
    assert done.message.startswith(
        ("cannot open the HSA runtime: ", "libhsa-runtime64.so.1 has no hsa_amd_vmem")
    )
