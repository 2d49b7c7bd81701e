"""Counts of memory accesses that are like others of their instruction, against sums over every wave's addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hipscope.emulator.raw import read_dispatches, read_profile
from tests.emulator.hip_run import record

TILES, PITCH, THREADS, GROUPS = 12, 208, 256, 40  # rows of 208 floats begin at two places of a line
COLUMNS, ROWS = 3, 20  # of workgroups
SHIFTS = (0, 4, 12, 16, 28)  # floats: where a wave's run begins in its line
SOURCE = f"""
#include <hip/hip_runtime.h>
// Tiles of 16 by 16 in rows that are further apart; all workgroups in a row of them read the same ones.
__global__ void tiles(const float* a, float* out) {{
    float sum = 0;
    const int row = blockIdx.y * 16 + threadIdx.y;
#pragma clang loop unroll(disable)
    for (int k = 0; k < {TILES}; ++k) sum += a[row * {PITCH} + k * 16 + threadIdx.x];
    out[(blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.y * 16 + threadIdx.x] = sum;
}}
__global__ void runs(const float* a, float* out) {{
    const int i = blockIdx.x * {THREADS} + threadIdx.x;
    out[i] = a[i];
}}
int main() {{
    float *a, *out;
    if (hipMalloc(&a, 4 << 20) != hipSuccess || hipMalloc(&out, 4 << 20) != hipSuccess) return 1;
    tiles<<<dim3({COLUMNS}, {ROWS}), dim3(16, 16)>>>(a, out);
    for (int shift : {{{", ".join(map(str, SHIFTS))}}}) runs<<<{GROUPS}, {THREADS}>>>(a + shift, out);
    return hipDeviceSynchronize() != hipSuccess;
}}
"""


def tile_accesses() -> Iterator[list[int]]:
    """The bytes at which each access of a wave's 64 lanes begins, relative to the array."""
    for group_row in range(ROWS):
        for _ in range(COLUMNS):
            for wave in range(4):
                for k in range(TILES):
                    rows = [group_row * 16 + wave * 4 + lane // 16 for lane in range(64)]
                    yield [4 * (row * PITCH + k * 16 + lane % 16) for lane, row in enumerate(rows)]


def run_accesses(shift: int) -> Iterator[list[int]]:
    for wave in range(GROUPS * THREADS // 64):
        yield [4 * (shift + wave * 64 + lane) for lane in range(64)]


def expected(accesses: Iterator[list[int]]) -> dict[str, int]:
    lines = [{address // 128 for address in access} for access in accesses]
    return {
        "accesses": len(lines),
        "lanes": 64 * len(lines),
        "lines_needed": 2 * len(lines),
        "lines_used": sum(map(len, lines)),
        "distinct": len(set().union(*lines)),
    }


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> list[Mapping[str, Any]]:
    """Of each launch: what its one load from global memory came to."""
    folder = tmp_path_factory.mktemp("access")
    source = folder / "access.hip"
    source.write_text(SOURCE)
    out = record(source, folder, "mi300x", len(SHIFTS))
    found = []
    for dispatch in read_dispatches(out):
        profile = read_profile(out, dispatch.id)
        assert profile is not None
        patterns = [
            i.memory for i in profile.instructions if i.memory is not None and i.memory["space"] == "global"
        ]
        [load] = [p for p in patterns if p["kind"] == "load"]
        found.append(load)
    return found


def check(load: Mapping[str, Any], answer: Mapping[str, int]) -> None:
    assert {name: load[name] for name in answer if name != "distinct"} == {
        name: value for name, value in answer.items() if name != "distinct"
    }
    assert load["distinct_lines"] == pytest.approx(answer["distinct"], rel=0.05)  # an estimate


def test_rows_of_a_tile(loads: list[Mapping[str, Any]]) -> None:
    check(loads[0], expected(tile_accesses()))


@pytest.mark.parametrize("which", range(len(SHIFTS)))
def test_runs_that_begin_anywhere_in_a_line(loads: list[Mapping[str, Any]], which: int) -> None:
    check(loads[1 + which], expected(run_accesses(SHIFTS[which])))
