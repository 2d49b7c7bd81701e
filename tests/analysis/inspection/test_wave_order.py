"""Exchanges within a wave through LDS: what `check` says of them, and what keeps their order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.runs.check_project import check_project
from hipscope.analysis.toolchain.project import resolve_project

STEPS = ("s[t] += s[t + 32];", "s[t] += s[t + 16];", "s[t] += s[t + 8];")
PROGRAM = """\
#include <hip/hip_runtime.h>
%(before)s
__global__ void reduce(const int* in, int* out) {
  %(array)s int s[128];
  const int t = threadIdx.x;
  s[t] = in[t];
  s[t + 64] = 0;
  __syncthreads();
  %(body)s
  out[t] = s[t];
}
int main() {
  int *in, *out;
  if (hipMalloc(&in, 512) != hipSuccess || hipMalloc(&out, 512) != hipSuccess) return 2;
  if (hipMemset(in, 1, 512) != hipSuccess) return 2;
  reduce<<<1, 64>>>(in, out);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""


def steps(between: str = "") -> str:
    return f"{between}\n  ".join(["", *STEPS])[len(between) :] + between


def found(
    tmp_path: Path, body: str, before: str = "", array: str = "__shared__"
) -> list[tuple[str, set[int]]]:
    file = tmp_path / "exchange.hip"
    file.write_text(PROGRAM % {"before": before, "array": array, "body": body})
    result = check_project(resolve_project(file), checks="races")
    return [
        (r.defect, {p.position.line for p in (r.at, r.other) if p is not None and p.position is not None})
        for r in result.run.reports
    ]


def test_an_exchange_without_anything_between_is_a_defect_with_both_lines(tmp_path: Path) -> None:
    reports = found(tmp_path, steps())
    assert {defect for defect, _ in reports} == {"wave-synchronous"}
    assert all(len(lines) == 2 for _, lines in reports)


def test_so_is_one_in_a_helper_in_a_loop_and_behind_a_macro_that_is_nothing(tmp_path: Path) -> None:
    helper = "__device__ void tail(int* s, int t) {\n  " + steps() + "\n}"
    assert found(tmp_path, "tail(s, t);", helper)
    assert found(tmp_path, "for (int o = 32; o > 0; o >>= 1) s[t] += s[t + o];")
    assert found(tmp_path, steps("\n  WSYNC();"), "#define WSYNC()")


@pytest.mark.parametrize(
    "repaired",
    [
        lambda path: found(path, steps("\n  __builtin_amdgcn_wave_barrier();")),
        lambda path: found(path, steps("\n  __syncwarp();")),
        lambda path: found(path, steps("\n  sync();"), "__device__ void sync() { __threadfence_block(); }"),
        lambda path: found(path, steps(), array="volatile __shared__"),
        lambda path: found(path, "volatile int* v = s;\n  " + steps().replace("s[", "v[")),
    ],
    ids=["wave barrier", "syncwarp", "fence in a helper", "volatile array", "volatile pointer"],
)
def test_what_keeps_the_order_gives_no_alarm(
    repaired: Callable[[Path], list[tuple[str, set[int]]]], tmp_path: Path
) -> None:
    assert repaired(tmp_path) == []
