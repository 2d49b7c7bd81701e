"""Steps that are written out before the real judge: what they do is proved equivalent, and a slip in them is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import open_bench
from hipscope.formulas.judge.judge import admit, prove
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.hints.variants import Hints, LoopHint, variants_of

PROGRAM = """#include <hip/hip_runtime.h>
#include <vector>
__global__ void picked(const int* row, const float* in, float* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) {
    const int at = row[i];
    if (at >= 0) {
      out[i] = in[at] + (i > 0 ? in[i - 1] : 0.5f);
      atomicAdd(&count[at % 7], 1);
    }
    i += blockDim.x * gridDim.x;
  }
}
int main() {
  const int n = 3000;
  std::vector<float> host(4096);
  std::vector<int> rows(4096);
  for (int i = 0; i < 4096; ++i) host[i] = i % 37 - 11.0f;
  for (int i = 0; i < 4096; ++i) rows[i] = i % 5 ? i * 31 % n : -1;
  float *in, *out;
  int *row, *count;
  (void)hipMalloc(&in, 16384);
  (void)hipMalloc(&out, 16384);
  (void)hipMalloc(&row, 16384);
  (void)hipMalloc(&count, 64);
  (void)hipMemcpy(in, host.data(), 16384, hipMemcpyHostToDevice);
  (void)hipMemcpy(row, rows.data(), 16384, hipMemcpyHostToDevice);
  (void)hipMemset(out, 0, 16384);
  (void)hipMemset(count, 0, 64);
  picked<<<3, 128>>>(row, in, out, count, n);
  return hipDeviceSynchronize();
}
"""
SLIPS = [
    ("if (at >= 0) in_at[u]", "if (at > 0) in_at[u]"),
    ("in_at2[u] = in[i_u - 1]", "in_at2[u] = in[i_u]"),
    ("i_at[u] = i + u *", "i_at[u] = i + u / 3 *"),
]


@pytest.mark.slow
def test_steps_at_once_are_proved_and_a_slip_in_them_is_not(tmp_path: Path) -> None:
    file = tmp_path / "main.hip"
    file.write_text(PROGRAM)
    project = resolve_project(file, config=Config(backend="emulator"))
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    (kernel,) = session.profile.kernels
    with open_bench(project, session, kernel) as bench:
        variants = variants_of(file, bench.original, bench.kernel, [kernel], bench.facts)
        assert [loop.line for loop in variants.loops] == [5]
        candidate = variants.candidate(Hints(((0, LoopHint(4, "written")),)))
        compiled = admit(bench, candidate, bench.run)
        assert not hasattr(compiled, "stage"), compiled
        verdict = prove(bench, candidate, compiled, bench.run)
        assert verdict.equivalent, verdict.reason
        for right, wrong in SLIPS:
            text = candidate.text.replace(right.encode(), wrong.encode())
            assert text != candidate.text, candidate.text.decode()
            slip = Candidate("slip", "", text, "")
            compiled = admit(bench, slip, bench.run)
            assert not hasattr(compiled, "stage"), compiled
            assert not prove(bench, slip, compiled, bench.run).equivalent, wrong
