"""Edits that span a kernel's file and those that launch it: all launches are edited, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.semantics.records import FunctionKey, KernelLaunch, Place
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.launches.launching_files import LaunchingProgram, launches_of
from hipscope.formulas.launches.more_workgroups import times
from hipscope.formulas.optimize.loop import optimize_project
from hipscope.formulas.optimize.result import OptimizeResult
from hipscope.formulas.optimize.verified_edit import apply_edit, restore
from tests.formulas.launches.test_shared_items import ROWS

KERNEL = "__global__ void rows(float* y) { y[0] = 1; }\n"
LAUNCH = "void go(float* y, int n) { rows<<<n, 64>>>(y); }\n"


def launch_at(place: Place) -> KernelLaunch:
    return KernelLaunch(place, FunctionKey("_Z4rowsPf"), place, place, None, None)


def edited(
    folder: Path, sources: dict[str, str], *, seeing: tuple[str, ...], beside: str = ""
) -> dict[str, str] | str:
    """The new texts by name, or why there are none; `rows.h` has the kernel, each source that launches it does once."""
    (folder / "rows.h").write_text(KERNEL)
    for name, text in sources.items():
        (folder / name).write_text(text)
    if beside:
        (folder / "other.hip").write_text(beside)
    files = {name: folder / name for name in sources}
    launches = [
        launch_at(Place(files[name], (text.index("rows<<<"), text.index("(y);") + 4)))
        for name, text in sources.items()
        if "rows<<<" in text
    ]
    program = LaunchingProgram(
        "rows",
        folder / "rows.h",
        folder,
        frozenset(files.values()),
        frozenset({folder / "rows.h"}),
        frozenset(folder / name for name in seeing),
        SourceTexts(),
    )
    found = launches_of(program, launches, times("lanes"))
    if isinstance(found, str):
        return found
    return {file.name: " ".join(s.text.decode() for s in splices) for file, splices in found.items()}


def test_every_source_that_launches_it_is_edited(tmp_path: Path) -> None:
    sources = {
        "a.hip": LAUNCH,
        "b.hip": LAUNCH.replace("n, 64", "7, 64"),
        "main.hip": "int main() {}  // of rows, each\n",
    }
    assert edited(tmp_path, sources, seeing=("a.hip", "b.hip")) == {
        "a.hip": "n * lanes",
        "b.hip": "7 * lanes",
    }


@pytest.mark.parametrize(
    ("sources", "beside", "reason"),
    [
        ({"b.hip": LAUNCH}, "", "b.hip launches `rows`, but is not compiled with rows.h"),
        ({"a.hip": LAUNCH}, LAUNCH, "launched in other.hip, too, which is not built with this program"),
        (
            {"a.hip": LAUNCH, "c.hip": "auto f = launch(rows, 1);\n"},
            "",
            "how c.hip launches `rows` is not known to the compiler",
        ),
    ],
)
def test_where_a_launch_would_be_left_out_nothing_is_edited(
    tmp_path: Path, sources: dict[str, str], beside: str, reason: str
) -> None:
    refused = edited(tmp_path, sources, seeing=("a.hip", "c.hip"), beside=beside)
    assert isinstance(refused, str)
    assert reason in refused


def two_files(folder: Path, more: str = "") -> OptimizeResult:
    """A kernel in a header and its launch in a source, built by make."""
    head, kernel = ROWS.split("__global__")[0], ROWS.split("int main")[0].split("<vector>\n")[1]
    (folder / "rows.h").write_text(f"#pragma once\n{kernel}")
    main = ROWS[ROWS.index("int main") :].replace("BLOCK", "256")
    (folder / "main.hip").write_text(f'{head}#include "rows.h"\n{more}{main}')
    (folder / "Makefile").write_text("main: main.hip rows.h\n\thipcc -O2 main.hip -o main\n")
    return optimize_project(resolve_project(folder / "main.hip", config=Config(backend="emulator")))


@pytest.mark.slow
def test_a_kernel_in_a_header_and_its_launch_are_one_verified_edit(tmp_path: Path) -> None:
    result = two_files(tmp_path)
    assert result.status == "verified", result.message
    assert "shared_items" in [a.recipe for a in result.attempts if a.outcome is Outcome.ACCEPTED]
    assert result.edit is not None
    assert [Path(part.file).name for part in result.edit.parts] == ["rows.h", "main.hip"]
    assert "--- a/rows.h" in (result.diff or "")
    assert "+++ b/main.hip" in (result.diff or "")
    was = {file: file.read_bytes() for file in (tmp_path / "rows.h", tmp_path / "main.hip")}
    apply_edit(result.edit)
    assert "constexpr int rows_lanes = " in (tmp_path / "rows.h").read_text()
    assert "rows<<<(n + 255) / 256 * rows_lanes, block>>>" in (tmp_path / "main.hip").read_text()
    restore(tmp_path / "main.hip")
    assert {file: file.read_bytes() for file in was} == was
