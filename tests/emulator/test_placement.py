"""Loads that the compiler moved away from their lines are shown where what they loaded is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hipscope.analysis.metrics.line_costs import line_costs
from hipscope.analysis.profile import StallReason
from hipscope.analysis.runs.check_project import check_project
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.placement import Placement, where_used
from hipscope.emulator.raw import RawInstruction
from hipscope.emulator.symbolize import Position, Symbolizer


class Lines(Symbolizer):
    """Says for addresses what it was told; without a line, 3 is the line before."""

    def __init__(self, lines: Mapping[int, int]) -> None:
        self.lines = lines

    def has_line(self, address: int) -> bool:
        return bool(self.lines[address])

    def positions(self, address: int) -> tuple[Position, ...]:
        return (Position("a.hip", self.lines[address] or 3, 0, "kernel"),)


def line_of_the_first(code: str) -> int:
    """`code` has a line number and an instruction on each line."""
    words = [line.strip().split(" ", 1) for line in code.strip().splitlines()]
    ran = [RawInstruction(4 * n, text, 1, 64, 1, 0, {}, {}, None) for n, (_, text) in enumerate(words)]
    return Placement(ran, Lines({4 * n: int(line) for n, (line, _) in enumerate(words)})).positions(0)[0].line


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("0 global_load_dword v4, v[2:3], off\n9 v_add_f32_e32 v1, v2, v4", 9),
        ("7 global_load_dword v4, v[2:3], off\n9 v_add_f32_e32 v1, v2, v4", 7),
        ("0 s_load_dwordx4 s[4:7], s[0:1], 0x0\n8 v_mov_b32_e32 v1, s8\n9 v_mov_b32_e32 v1, s6", 9),
        # Through an instruction without a line, and not through a register that has been written again.
        ("0 ds_read_b32 v4, v0\n0 v_mul_f32_e32 v5, v4, v4\n9 v_add_f32_e32 v1, v2, v5", 9),
        ("0 ds_read_b32 v4, v0\n8 v_mov_b32_e32 v4, v0\n9 v_add_f32_e32 v1, v2, v4", 3),
        ("0 global_load_dword v4, v[2:3], off\n8 global_store_dword v[2:3], v4, off", 8),
        # Nothing uses it; no load; loaded into LDS.
        ("0 global_load_dword v4, v[2:3], off\n9 v_add_f32_e32 v1, v2, v3", 3),
        ("0 v_mov_b32_e32 v4, v0\n9 v_add_f32_e32 v1, v2, v4", 3),
        ("0 global_load_lds_dword v[2:3], off\n9 v_add_f32_e32 v1, v2, v3", 3),
    ],
)
def test_a_load_without_a_line_is_where_it_is_first_used(code: str, line: int) -> None:
    assert line_of_the_first(code) == line


TWO_BRANCHES = """#include <hip/hip_runtime.h>
__global__ void both(const float* __restrict__ a, const float* __restrict__ b, float* out, int n, int mode) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  if (mode == 1) {
    for (int k = 0; k < 8; ++k) s += a[(i * 17 + k * 4099) % n] * b[i];
  } else {
    for (int k = 0; k < 8; ++k) s -= a[(i * 17 + k * 4099) % n] * b[i];
  }
  out[i] = s;
}
int main() {
  const int n = 65536;
  float* p;
  if (hipMalloc(&p, 3 * n * 4) != hipSuccess || hipMemset(p, 0, 3 * n * 4) != hipSuccess) return 1;
  both<<<n / 256, 256>>>(p, p + n, p + 2 * n, n, 1);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


def test_loads_of_two_branches_are_shown_on_the_line_that_ran(tmp_path: Path) -> None:
    source = tmp_path / "two.hip"
    source.write_text(TWO_BRANCHES)
    session = profile_project(resolve_project(source), options=ProfileOptions(backend="emulator"))
    costs = line_costs(session.profile.kernels[0])
    waits = {cost.line: cost.stalls.get(StallReason.GLOBAL_MEMORY, 0.0) for cost in costs}
    assert max(waits, key=lambda line: waits[line]) == 7
    assert waits.get(6, 0.0) < 0.1 * waits[7]


PAST_THE_END = """#include <hip/hip_runtime.h>
__device__ float weigh(const float* w, int i) {
  return w[i];
}
__global__ void sums(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < turns; ++k) {
    s += a[k * 64 + i] *
         weigh(b, i);
  }
  out[i] = s;
}
__global__ void both(const float* __restrict__ a, const float* __restrict__ b, float* out, int n, int mode) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  if (mode == 1) {
    for (int k = 0; k < 8; ++k) s += a[(i * 17 + k * 4099) % n] * b[i];
  } else {
    for (int k = 0; k < 8; ++k) s -= a[(i * 17 + k * 4099) % n] * b[i];
  }
  out[i] = s;
}
int main() {
  float *a, *b, *c;
  if (hipMalloc(&a, 8192) || hipMalloc(&b, 2048) || hipMalloc(&c, 8192)) return 1;
  if (hipMemset(a, 0, 8192) || hipMemset(b, 0, 2048)) return 1;
  sums<<<16, 64>>>(a, b, c, 5);
  both<<<16, 64>>>(a, b, c, 1024, 1);
  return hipDeviceSynchronize() != hipSuccess;
}
"""


def test_reports_of_loads_without_a_line_are_where_they_are_used(tmp_path: Path) -> None:
    source = tmp_path / "past.hip"
    source.write_text(PAST_THE_END)
    reports = check_project(resolve_project(source)).run.reports
    lines = {(r.kernel.partition("(")[0], r.at.position.line) for r in reports if r.at.position}
    assert lines == {("sums", 9), ("both", 18)}, (
        "a load out of a loop; one out of two branches, in the one that ran"
    )


class Chains(Symbolizer):
    """Lines with functions, innermost first; 4 and 8 have none of their own."""

    def __init__(self, chains: Mapping[int, Sequence[tuple[int, str]]]) -> None:
        self.chains = chains

    def has_line(self, address: int) -> bool:
        return address not in {4, 8}

    def positions(self, address: int) -> tuple[Position, ...]:
        return tuple(Position("a.hip", line, 0, name) for line, name in self.chains[address])


@pytest.mark.parametrize(
    ("uses", "lines"),
    [
        ([[12]], [9]),
        ([[12, 16]], [9]),
        ([[8], [12]], [9]),
        ([[20]], [3, 9]),
        # Two lines, none, and none that has a line.
        ([[12, 24]], [2]),
        ([], [2]),
        ([[8]], [2]),
    ],
)
def test_a_load_is_where_all_its_uses_are(uses: Sequence[Sequence[int]], lines: Sequence[int]) -> None:
    chains = {
        4: [(2, "k")],
        8: [(2, "k")],
        12: [(9, "k")],
        16: [(9, "k")],
        20: [(3, "f"), (9, "k")],
        24: [(10, "k")],
    }
    assert [p.line for p in where_used(Chains(chains), 4, uses)] == lines


def test_the_function_that_a_load_was_inlined_from_is_not_lost() -> None:
    symbols = Chains({4: [(2, "f"), (9, "k")], 12: [(10, "k")], 16: [(3, "f"), (9, "k")]})
    assert [p.line for p in where_used(symbols, 4, [[12]])] == [2, 9]
    assert [p.line for p in where_used(symbols, 4, [[16]])] == [3, 9]
