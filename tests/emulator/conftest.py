"""What several files of these tests ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulator.recorded_run import Run, runs_in


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Builds a program from its text and runs it on the emulator: `run(text, threads=2, HIPSCOPE_X="1")`."""
    return runs_in(tmp_path)
