"""A small program with marks and the report that the fake worker makes of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.profile import Report
from hipscope.server.session.known_profiles import Marks
from tests.server.command_line import builds, cli
from tests.server.lsp_editor import any_client, client

__all__ = ["any_client", "builds", "cli", "client"]  # fixtures

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")

PROGRAM = """\
#include <hip/hip_runtime.h>
__global__ void transpose(float* p, int n) {
  __shared__ float tile[32][32];
  int x = threadIdx.x;  // cost 0.1 scalar_memory
  tile[x][0] = p[x];  // cost 0.2 global_memory
  p[x] = tile[x][n]/*slow*/;  // cost 0.6 lds // find bankConflict
}

__global__ void copy(float* p, int n) {
  p[n] = p[0];  // cost 0.9 global_memory
}

int main() {
  transpose<<<1, 64>>>(nullptr, 0);
  return 0;
}
"""
HOT_LINE = 6
FILE = "/project/transpose.hip"


@pytest.fixture(scope="session")
def fake() -> ModuleType:
    """The fake worker as a module, for its report."""
    spec = importlib.util.spec_from_file_location("fake_worker", FAKE_WORKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    source = FAKE_WORKER.read_text().rpartition("main()")[0]
    exec(compile(source, str(FAKE_WORKER), "exec"), module.__dict__)
    return module


@pytest.fixture
def report_data(fake: ModuleType) -> dict[str, Any]:
    """The `hipscope.profile/2` object of PROGRAM."""
    data: dict[str, Any] = fake.profile(FILE, PROGRAM)
    return data


@pytest.fixture
def report(report_data: dict[str, Any]) -> Report:
    """The same, read."""
    return read_report(report_data)


@pytest.fixture
def marks(report: Report) -> Marks:
    """The report on the very text that was profiled."""
    return Marks(report, FILE, PROGRAM, PROGRAM)
