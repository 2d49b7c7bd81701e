"""The tests of the instruction set execute every row that they claim to check, and look at every result.

They run once more here, in a process of their own: the probe writes down what it has executed, and turns one bit of
each result back, so that every test must fail. With `test_isa_rows_covered.py` that is the chain from a row, and from a
mnemonic of the corpus, to a test that notices what the row does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.emulator import isa_oracle as isa
from tests.emulator.test_isa_coverage import base, supported
from tests.emulator.test_isa_rows_covered import EXCEPTIONS

HERE = Path(__file__).parent
# These are about the list itself, or run again what others run in one form.
LEFT_OUT = ("test_isa_coverage.py", "test_isa_rows_covered.py", "test_isa_forms.py", Path(__file__).name)
# Of the exceptions there, these have no test that could execute them.
UNTESTED = {
    name for reason, names in EXCEPTIONS.items() if not reason.startswith("checked") for name in names.split()
}
# They expect that nothing changes, or look at how a wave stopped and at nothing else.
NOTHING_CHANGES = re.compile(
    "stops_the_wave|what_stops_a_wave|a_barrier|a_semaphore|a_lane_that_is_off|every_line_is_stored|is_refused"
)


class Spoiled(NamedTuple):
    """pytest's lines of a run with spoiled results, and what the probe executed in it: lines `target, tab, text`."""

    lines: list[str]
    executed: set[str]


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Spoiled:
    folder = tmp_path_factory.mktemp("spoiled")
    log = folder / "executed"
    modules = [str(path) for path in sorted(HERE.glob("test_isa_*.py")) if path.name not in LEFT_OUT]
    # Explained asserts and marked lines of source would take most of the time: nearly every test fails.
    options = ["--assert=plain", "--tb=native", "--show-capture=no", "-rpE", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, "--basetemp", str(folder / "base"), *modules],
        cwd=isa.ROOT,
        env={
            **os.environ,
            "HIPSCOPE_ISA_SPOIL": "1",
            "HIPSCOPE_ISA_EXECUTED": str(log),
            "HIPSCOPE_ISA_PROBE": str(isa.probe()),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return Spoiled(done.stdout.splitlines(), set(log.read_text().splitlines()))


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
def test_every_row_that_is_checked_is_executed(spoiled: Spoiled) -> None:
    known = supported()
    executed: set[str] = set()
    for line in spoiled.executed:
        target, _, text = line.partition("\t")
        executed.update(rows_of(target, text, known))
    assert sorted(known - executed - UNTESTED) == []


@pytest.mark.slow
def test_every_test_notices_one_wrong_bit_in_each_result(spoiled: Spoiled) -> None:
    last = spoiled.lines[-1]
    failed = int(next(iter(re.findall(r"(\d+) failed", last)), 0))
    assert failed > 1500, last
    blind = [x for x in spoiled.lines if x.startswith(("PASSED", "ERROR")) and not NOTHING_CHANGES.search(x)]
    assert blind == []
