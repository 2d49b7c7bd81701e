"""Programs that call a library of ROCm, where there is none: what is said of the calls that the host computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from tests.server.command_line import Cli

pytestmark = pytest.mark.skipif(
    find_toolchain(Config()).rocm_path is not None, reason="ROCm's own libraries are here"
)
PROGRAM = """\
#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>
__global__ void fill(float* x) { x[threadIdx.x] = threadIdx.x; }
int main() {
  float *x, result = 0;
  if (hipMalloc(&x, 256)) return 1;
  LAUNCH
  hipblasHandle_t handle;
  if (hipblasCreate(&handle)) return 2;
  for (int i = 0; i < 3; ++i)
    if (hipblasSdot(handle, 64, x, 1, x, 1, &result)) return 3;
  return result != WANTED;
}
"""
SAID = "3 library calls were computed by the host and have no modelled time: hipblasSdot (3)"


def test_calls_that_the_host_computed_are_told_and_have_no_time(cli: Cli) -> None:
    source = cli.write(PROGRAM.replace("LAUNCH", "fill<<<1, 64>>>(x);").replace("WANTED", "85344"))
    outcome = cli("profile", source, "--format", "json")
    assert outcome.code == 0
    report = json.loads(outcome.stdout)
    assert report["library_calls"] == {"hipblasSdot": 3}
    assert report["warnings"] == [f"{SAID}; all shares are of the other kernels' time"]
    assert [kernel["name"] for kernel in report["kernels"]] == ["fill(float*)"]
    shown = cli("profile", source)
    assert shown.code == 0
    assert f"Warning: {SAID}" in " ".join(shown.stdout.split())


def test_a_program_that_launches_nothing_itself_is_told_so(cli: Cli) -> None:
    source = cli.write(PROGRAM.replace("LAUNCH", "(void)hipMemset(x, 0, 256);").replace("WANTED", "0"))
    outcome = cli("profile", source)
    assert outcome.code == 4
    assert f"the program launched no kernel of its own; {SAID}" in outcome.stderr


@pytest.mark.slow
def test_an_edit_says_that_its_gain_leaves_the_calls_out(cli: Cli) -> None:
    text = (Path(__file__).parents[3] / "examples" / "lds_column_read.hip").read_text()
    text = text.replace("width = 1530, height = 1070", "width = 250, height = 130")
    calls = """\
  hipblasHandle_t handle;
  float sum = 0;
  if (hipblasCreate(&handle) || hipblasSasum(handle, 64, device_out, 1, &sum)) return 9;
"""
    launch = text.index(";", text.index("smooth_transpose<<<")) + 1
    source = cli.write("#include <hipblas/hipblas.h>\n" + text[:launch] + "\n" + calls + text[launch:])
    outcome = cli("optimize", source, "--formula", "bankConflict", "--format", "json")
    found = json.loads(outcome.stdout)
    assert found["status"] == "verified", found["message"]
    said = "1 library call was computed by the host and has no modelled time: hipblasSasum (1)"
    assert f"{said}: what all kernels gain together leaves them out" in found["notes"]
