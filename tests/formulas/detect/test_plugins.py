"""Formulas of other packages: one that works, and the ways in which one can be wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.config import load_config
from hipscope.analysis.profile import (
    Dispatch,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    Profile,
    Resources,
    StallReason,
)
from tests.formulas.hand_made import modelled_profile

PACKAGE = Path(__file__).parents[1] / "outside_package"

ASK = """
import json, sys
from pathlib import Path
from hipscope.analysis.config import load_config
from hipscope.analysis.profile import Profile
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.registry import all_formulas, detect_all, measure_all
profile = Profile.model_validate_json(sys.argv[2])
texts = SourceTexts({Path("/k.hip"): b"\\n" * 6 + b"  table[n] = 1;\\n"})
found = detect_all(profile, texts)
print(json.dumps({
    "names": [f.name for f in all_formulas()],
    "found": [(f.formula, f.line, f.share) for f in found],
    "columns": [(f.column, f.end_column) for f in found if f.formula == "scalarWaits"],
    "metrics": measure_all(profile.kernels[0], profile.device),
    "setting": load_config(Path(sys.argv[1])).formulas,
}))
"""


def profile() -> Profile:
    """One kernel that waits for a scalar load in 4600 of 10000 cycles."""
    load = instruction(0, "s_load_dwordx2 s[0:1], s[2:3], 0x0", 5000, {StallReason.SCALAR_MEMORY: 4600})
    kernel = Kernel(
        name=KernelName("k(int)"),
        mangled="_Z1ki",
        dispatches=(Dispatch(id=1, grid=(256, 1, 1), workgroup=(256, 1, 1), start_ns=0, end_ns=1e4),),
        resources=Resources(),
        instructions=(load, instruction(1, "v_add_f32_e32 v0, v1, v2", 5000, {})),
    )
    return modelled_profile(kernel)


def instruction(index: int, text: str, latency: float, stalls: dict[StallReason, float]) -> Instruction:
    source = (Frame(file="/k.hip", line=7, column=3),)
    return Instruction(
        index=index, address=8 * index, text=text, source=source, hits=100, lanes=6400, latency=latency,
        stall=sum(stalls.values()), stalls=stalls,
    )  # fmt: skip


def install(folder: Path, name: str, module: str, target: str) -> Path:
    """What an installer leaves behind: the module and the package's metadata with its entry point."""
    folder.mkdir()
    (folder / f"{name}.py").write_text(module)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[hipscope.formulas]\n{target}\n")
    return folder


def ask(*folders: Path, config: Path) -> tuple[dict[str, object], str]:
    """All formulas' answer in a new process that has these folders on its path, and what it warned of."""
    paths = [*map(str, folders), *(p for p in sys.path if p)]
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(config), profile().model_dump_json()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer, done.stderr


def test_a_formula_of_another_package_is_asked_like_our_own(tmp_path: Path) -> None:
    module = (PACKAGE / "scalar_waits.py").read_text()
    folder = install(tmp_path / "site", "scalar_waits", module, "scalarWaits = scalar_waits:ScalarWaits")
    (tmp_path / "hipscope.toml").write_text('formulas = ["scalarWaits"]\n')
    answer, warned = ask(folder, config=tmp_path)
    assert isinstance(answer["names"], list)
    assert answer["names"][-1] == "scalarWaits"
    assert ["scalarWaits", 7, 0.46] in answer["found"]  # type: ignore[operator]
    assert answer["columns"] == [[3, 11]]
    assert answer["metrics"]["scalar load wait cycles"] == 4600  # type: ignore[index]
    assert answer["setting"] == ["scalarWaits"]
    assert warned == ""


def test_the_package_of_the_guide_names_that_entry_point() -> None:
    assert 'scalarWaits = "scalar_waits:ScalarWaits"' in (PACKAGE / "pyproject.toml").read_text()
    page = (Path(__file__).parents[3] / "docs" / "formulas" / "write-your-own.md").read_text()
    assert (PACKAGE / "scalar_waits.py").read_text() in page
    assert (PACKAGE / "pyproject.toml").read_text() in page


GOOD = (PACKAGE / "scalar_waits.py").read_text()


SAME = "scalarWaits = broken:ScalarWaits"


@pytest.mark.parametrize(
    ("module", "target", "warning"),
    [
        ("import nothing_of_that_name", "a = broken:A", "No module named 'nothing_of_that_name'"),
        ("A = int", "a = broken:A", "it is not a subclass of hipscope.formulas.base.Formula"),
        (GOOD, "a = broken:ScalarWaits", "its name is 'scalarWaits', and its entry point must have the same"),
        (
            GOOD.replace("scalarWaits", "precision"),
            "precision = broken:ScalarWaits",
            "another formula of that name",
        ),
        (
            GOOD.replace("blamed = ", "blamed = 1 / 0 + "),
            "scalarWaits = broken:ScalarWaits",
            "its detect() failed",
        ),
        (
            GOOD.replace("return found", "return [1]"),
            "scalarWaits = broken:ScalarWaits",
            "something else than findings",
        ),
        (
            GOOD.replace("return {_WAITS: ", "return {1 / 0: "),
            "scalarWaits = broken:ScalarWaits",
            "its measure() failed",
        ),
    ],
)
def test_a_broken_formula_gives_one_warning_and_the_others_are_asked(
    module: str, target: str, warning: str, tmp_path: Path
) -> None:
    folder = install(tmp_path / "site", "broken", module, target)
    answer, warned = ask(folder, config=tmp_path)
    assert "bankConflict" in answer["names"]  # type: ignore[operator]
    assert warned.startswith("hipscope: warning: the formula ")
    assert warning in warned
    assert warned.count("\n") == 1
    assert "Traceback" not in warned


def test_all_built_in_formulas_are_asked_by_default(tmp_path: Path) -> None:
    assert load_config(tmp_path).formulas[:2] == ["bankConflict", "memoryAccess"]
