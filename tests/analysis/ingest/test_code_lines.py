"""Captures of code that was built without line tables get lines from the same code of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.runs.open_capture import open_captures
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.symbolize import Symbolizer
from tests.analysis.ingest.capture_files import thread_trace
from tests.plain_hip import PLAIN_HIP

pytestmark = pytest.mark.usefixtures("cache")

KERNEL = "__global__ void twice(float* p) {\n  p[threadIdx.x] *= 2.0f;\n}\nint main() {}\n"
LINE = (PLAIN_HIP + KERNEL).split("\n").index("  p[threadIdx.x] *= 2.0f;") + 1
IDENTIFIED = ["-Xoffload-linker", "--build-id=0x1234abcd"]


def compiled(folder: Path, kernel: str, flags: list[str]) -> Path:
    """The code object of a project's only source."""
    folder.mkdir(parents=True)
    source = folder / "twice.hip"
    source.write_text(PLAIN_HIP + kernel)
    project = resolve_project(source, config=Config(flags=["-nogpuinc", *flags]))
    return compile_device(project, find_toolchain(Config()), source, Run()).path


def captured(folder: Path, code: Path, *, stripped: bool = True) -> None:
    """A thread trace of the kernel without lines, with the code object beside it."""
    lines = Symbolizer(code)
    kernel = next(f for f in lines.functions if "twice" in f.name)
    address = next(
        a
        for a in range(kernel.address, kernel.address + kernel.size, 4)
        if [p.line for p in lines.positions(a)] == [LINE]
    )
    rows = [
        ["; _Z5twicePf", 0, 0, "twice(float*)", 1, kernel.address, 0, 0, 0, 0],
        ["v_mul_f32_e32 v1, v1, v2", 0, 1, None, 1, address, 10, 400, 300, 0],
    ]
    thread_trace(folder / "ui_output_agent_1_dispatch_1", rows, waits=False)
    content = code.read_bytes()
    content = content.replace(b".debug_", b".absent") if stripped else content
    (folder / "7_gfx942_code_object_id_1.out").write_bytes(content)


@pytest.mark.parametrize("flags", [[], IDENTIFIED], ids=["by code", "by build id"])
def test_lines_are_those_of_the_projects_program_that_holds_the_same_code(
    tmp_path: Path, flags: list[str]
) -> None:
    code = compiled(tmp_path / "project", KERNEL, flags)
    captured(tmp_path / "capture", code)
    (tmp_path / "project" / "build").mkdir()
    (tmp_path / "project" / "build" / "other").write_bytes(b"\x7fELF and no more")
    program = tmp_path / "project" / "build" / "program.hsaco"
    program.write_bytes(code.read_bytes())
    profile = open_captures([tmp_path / "capture"], [tmp_path / "project"], Run()).profile
    (kernel,) = profile.kernels
    assert [(f.file, f.line) for f in kernel.instructions[0].source] == [
        (str(tmp_path / "project" / "twice.hip"), LINE)
    ]
    assert kernel.line == LINE - 1
    assert f"those of {program}: it holds the same code" in " ".join(profile.notes)


def test_lines_of_the_captures_own_code_object_are_used(tmp_path: Path) -> None:
    captured(tmp_path / "capture", compiled(tmp_path / "project", KERNEL, []), stripped=False)
    profile = open_captures([tmp_path / "capture"], [], Run()).profile
    assert profile.kernels[0].instructions[0].source[-1].line == LINE


@pytest.mark.parametrize(
    ("kernel", "flags"),
    [(KERNEL.replace("2.0f", "3.0f"), []), (KERNEL, ["-Xoffload-linker", "--build-id=0x77"])],
)
def test_code_that_differs_gives_no_lines(tmp_path: Path, kernel: str, flags: list[str]) -> None:
    own = IDENTIFIED if flags else []
    captured(tmp_path / "capture", compiled(tmp_path / "there", KERNEL, own))
    other = compiled(tmp_path / "project", kernel, flags)
    (tmp_path / "project" / "program.hsaco").write_bytes(other.read_bytes())
    profile = open_captures([tmp_path / "capture"], [tmp_path / "project"], Run()).profile
    assert profile.kernels[0].instructions[0].source == ()
