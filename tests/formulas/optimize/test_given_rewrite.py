"""A rewrite that changes functions which several kernels call, through the whole gate: each kernel has to be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.optimize.loop import OptimizeOptions, optimize_project
from hipscope.formulas.optimize.options import GivenRewrite
from hipscope.formulas.optimize.result import OptimizeResult

PROGRAM = """\
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

__device__ unsigned ones(unsigned v) {
  unsigned s = 0;
  for (int j = 0; j < 32; ++j) s += (v >> j) & 1u;
  return s;
}

__global__ void hot(const unsigned* in, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned s = 0;
  for (unsigned r = 0; r < 16; ++r) s += ones((in[i % n] * (r + 1)) >> 1);
  if (i < n) out[i] = s;
}

__global__ void signs(const unsigned* in, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ones(in[i]);
}
UNUSED
int main() {
  const int n = 4096;
  std::vector<unsigned> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i * 2654435761u;
  unsigned *from, *to, *other;
  hipMalloc(&from, n * sizeof(unsigned));
  hipMalloc(&to, n * sizeof(unsigned));
  hipMalloc(&other, n * sizeof(unsigned));
  hipMemcpy(from, in.data(), n * sizeof(unsigned), hipMemcpyHostToDevice);
  hot<<<n / 256, 256>>>(from, to, n);
  signs<<<n / 256, 256>>>(from, other, n);
  hipMemcpy(out.data(), to, n * sizeof(unsigned), hipMemcpyDeviceToHost);
  unsigned sum = 0;
  for (unsigned v : out) sum += v;
  std::printf("%u\\n", sum);
  return 0;
}
"""
NEVER_RUN = """
__global__ void never(unsigned* out) { out[threadIdx.x] = ones(out[threadIdx.x]); }
"""
LOOP = "unsigned s = 0;\n  for (int j = 0; j < 32; ++j) s += (v >> j) & 1u;\n  return s;"
RIGHT = "return __popc(v);"
WITHOUT_SIGN = LOOP.replace("j < 32", "j < 31")  # `hot` never has that bit set, whatever its input is


def judged(folder: Path, text: str, program: str) -> OptimizeResult:
    source = folder / "ones.hip"
    source.write_text(program, encoding="latin-1")
    options = OptimizeOptions(kernel="hot", given=GivenRewrite(source, text.encode("latin-1")))
    return optimize_project(resolve_project(source), options=options)


@pytest.mark.slow
def test_a_function_that_two_kernels_call_has_to_be_right_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    program = "// \N{COPYRIGHT SIGN} in Latin-1, which clang takes\n" + PROGRAM.replace("UNUSED", "")
    kernel = ("in[i % n] * (r + 1)", "in[i % n] * (1 + r)")  # the kernel changes with it
    right = judged(tmp_path, program.replace(LOOP, RIGHT).replace(*kernel), program)
    assert right.status == "verified", right.message
    assert (right.speedup or 0.0) > 1.5
    wrong = judged(tmp_path, program.replace(LOOP, WITHOUT_SIGN).replace(*kernel), program)
    assert (wrong.status, wrong.edit) == ("rejected", None)
    assert "Another kernel, signs" in wrong.message


@pytest.mark.slow
def test_a_function_of_a_kernel_that_is_not_launched_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    program = PROGRAM.replace("UNUSED", NEVER_RUN)
    kernel = ("in[i % n] * (r + 1)", "in[i % n] * (1 + r)")
    found = judged(tmp_path, program.replace(LOOP, RIGHT).replace(*kernel), program)
    assert (found.status != "verified", found.edit) == (True, None)
    assert "does not launch it" in found.message
