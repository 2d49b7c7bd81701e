"""The tests of the instruction set look at every result: where one bit of each is wrong, every test fails but these.

With `test_isa_rows_covered.py` and `test_isa_rows_executed.py` that is the chain from a row, and from a mnemonic of the
corpus, to a test that notices what the row does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator import isa_oracle as isa
from tests.emulator.test_isa_rows_executed import LEFT_OUT

HERE = Path(__file__).parent
# They expect that nothing changes, or look at how a wave stopped and at nothing else.
NOTHING_CHANGES = re.compile(
    "stops_the_wave|what_stops_a_wave|a_barrier|a_semaphore|a_lane_that_is_off|every_line_is_stored|is_refused"
)


@pytest.mark.slow
def test_every_test_notices_one_wrong_bit_in_each_result(tmp_path: Path) -> None:
    modules = [
        str(path)
        for path in sorted(HERE.glob("test_isa_*.py"))
        if path.name not in (*LEFT_OUT, Path(__file__).name)
    ]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=no",
            "-rpE",
            "-p",
            "no:cacheprovider",
            "--basetemp",
            str(tmp_path / "base"),
            *modules,
        ],
        cwd=isa.ROOT,
        env={**os.environ, "HIPSCOPE_ISA_SPOIL": "1", "HIPSCOPE_ISA_PROBE": str(isa.probe())},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    lines = done.stdout.splitlines()
    failed = int(next(iter(re.findall(r"(\d+) failed", lines[-1])), 0))
    assert failed > 1500, lines[-1]
    blind = [x for x in lines if x.startswith(("PASSED", "ERROR")) and not NOTHING_CHANGES.search(x)]
    assert blind == []
