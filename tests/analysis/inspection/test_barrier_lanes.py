"""Barriers that a part of a wave's lanes reached: named of a profiled run, without the sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.inspection.barrier_lanes import divergent_barriers
from hipscope.analysis.run import Run
from hipscope.analysis.runs.kernel_defects import kernel_defects
from hipscope.analysis.runs.profile_project import profile_project
from hipscope.analysis.toolchain.project import resolve_project

PROGRAM = """\
#include <hip/hip_runtime.h>
__global__ void sums(const int* in, int* out, int rows) {
  __shared__ int sum[8];
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  if (threadIdx.x == 0) sum[threadIdx.y] = 0;
  __syncthreads();
  atomicAdd(&sum[threadIdx.y], in[row * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) out[row] = sum[threadIdx.y];
}
int main() {
  int *in, *out;
  if (hipMalloc(&in, 1 << 16) != hipSuccess || hipMalloc(&out, 1 << 16) != hipSuccess) return 2;
  if (hipMemset(in, 1, 1 << 16) != hipSuccess) return 2;
  sums<<<2, dim3(%d, %d)>>>(in, out, %d);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""
RETURN, FIRST, SECOND = 5, 7, 9


def program(folder: Path, width: int, height: int, rows: int) -> Path:
    file = folder / "rows.hip"
    file.write_text(PROGRAM % (width, height, rows))
    return file


def test_lanes_that_returned_before_a_barrier_are_named_at_it_with_the_return(tmp_path: Path) -> None:
    file = program(tmp_path, 32, 8, 11)  # rows 10 and 11 share a wave
    run = Run()
    profile = profile_project(resolve_project(file), run).profile
    notes = divergent_barriers(profile.kernels[0], run.texts)
    assert [(n.code, n.line, n.kernel) for n in notes] == [
        ("divergent-barrier", FIRST, "sums"),
        ("divergent-barrier", SECOND, "sums"),
    ]
    assert f"`return` on line {RETURN}" in notes[0].message
    assert "32 lanes were missing" in notes[0].message


@pytest.mark.parametrize(
    ("width", "height", "rows"),
    [(64, 8, 11), (32, 8, 10), (48, 2, 4), (20, 3, 6)],
    ids=["waves that ended whole", "pairs of rows that ended", "a last wave of 32", "one wave of 60"],
)
def test_what_hardware_defines_is_none(tmp_path: Path, width: int, height: int, rows: int) -> None:
    run = Run()
    profile = profile_project(resolve_project(program(tmp_path, width, height, rows)), run).profile
    assert not divergent_barriers(profile.kernels[0], run.texts)


def test_the_defects_beside_an_edit_are_those_of_its_kernel(tmp_path: Path) -> None:
    project, run = resolve_project(program(tmp_path, 32, 8, 11)), Run()
    notes, unknown = kernel_defects(project, ["sums(int const*, int*, int)"], run, run)
    assert unknown is None
    assert {(n.code, n.line) for n in notes} == {("divergent-barrier", FIRST), ("divergent-barrier", SECOND)}
    assert kernel_defects(project, ["others(int*)"], run, run) == ([], None)
