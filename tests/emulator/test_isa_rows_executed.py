"""The tests of the instruction set execute every row that they claim to check.

They run once more here, in a process of their own, and the probe writes down what it has executed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulator import isa_oracle as isa
from tests.emulator.test_isa_coverage import base, supported
from tests.emulator.test_isa_rows_covered import EXCEPTIONS

HERE = Path(__file__).parent
# These are about the list itself, or run again what others run in one form.
LEFT_OUT = (
    "test_isa_coverage.py",
    "test_isa_rows_covered.py",
    "test_isa_forms.py",
    "test_isa_results_looked_at.py",
    Path(__file__).name,
)
# Of the exceptions there, these have no test that could execute them.
UNTESTED = {
    name for reason, names in EXCEPTIONS.items() if not reason.startswith("checked") for name in names.split()
}


def rows_of(target: str, text: str, known: set[str]) -> Iterator[str]:
    """The rows that an instruction may be: where there is a row for this target or form, it is that one alone."""
    name = base(text.split(" ", 1)[0])
    if " lds" in text and f"{name}_lds" in known:
        name += "_lds"
    if text.endswith(" clamp") and f"{name}_clamp" in known:
        name += "_clamp"
    if f"{name}@{target}" in known:
        name += f"@{target}"
    yield name
    yield name.replace("v_cmpx_", "v_cmp_")


@pytest.mark.slow
def test_every_row_that_is_checked_is_executed(tmp_path: Path) -> None:
    log = tmp_path / "executed"
    modules = [str(path) for path in sorted(HERE.glob("test_isa_*.py")) if path.name not in LEFT_OUT]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--basetemp",
            str(tmp_path / "base"),
            *modules,
        ],
        cwd=isa.ROOT,
        env={**os.environ, "HIPSCOPE_ISA_EXECUTED": str(log), "HIPSCOPE_ISA_PROBE": str(isa.probe())},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    known = supported()
    executed: set[str] = set()
    for line in set(log.read_text().splitlines()):
        target, _, text = line.partition("\t")
        executed.update(rows_of(target, text, known))
    assert sorted(known - executed - UNTESTED) == []
