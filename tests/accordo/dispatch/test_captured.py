"""A launch that comes to no end in the program's own run leaves nothing to compare with, and harms no other launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.dispatch.captured import read_capture_set
from hipscope.analysis.errors import UsageError

PROGRAM = """#include <hip/hip_runtime.h>
__global__ void columns(const float* in, float* out, int rows) {
  float sum = 0;
  for (int r = 0; r < rows; ++r) sum += in[r * 64 + threadIdx.x];
  out[threadIdx.x] = sum;
}
__global__ void beyond(const float* in, float* out) { out[threadIdx.x] = in[1 << 20]; }
int main() {
  float *in, *out;
  (void)hipMalloc(&in, 64 * 8 * 4);
  (void)hipMalloc(&out, 64 * 4);
  (void)hipMemset(in, 0, 64 * 8 * 4);
  columns<<<1, 64>>>(in, out, 8);
  columns<<<1, 64>>>(in, out, 8000);
  beyond<<<1, 64>>>(in, out);
  return hipDeviceSynchronize() == hipSuccess;
}
"""


def test_a_launch_that_faults_is_left_out_and_the_others_are_judged(tmp_path: Path) -> None:
    source = tmp_path / "faults.hip"
    source.write_text(PROGRAM)
    with accordo.capture(source, kernel="columns") as recording:
        every = read_capture_set(recording.dispatches[0].directory.parent)
        assert [d.unusable for d in every] == [False, True, True][: len(every)]
        assert [d.id for d in recording.dispatches] == [1]
        assert accordo.compare(recording, source).equivalent


def test_a_kernel_whose_launches_all_fault_says_so(tmp_path: Path) -> None:
    source = tmp_path / "faults.hip"
    source.write_text(PROGRAM.replace("rows) {", "rows) {\n  in += 1 << 20;"))
    with (
        pytest.raises(UsageError, match="can be replayed: the dispatch faulted") as caught,
        accordo.capture(source, kernel="columns"),
    ):
        pass
    assert "hipscope check" in (caught.value.hint or "")
