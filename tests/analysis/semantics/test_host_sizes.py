"""How the sizes of a launch are computed: down to the numbers that are written in the text, and where these stand."""

from __future__ import annotations

import pytest

from hipscope.analysis.semantics.records import HostExpression
from tests.analysis.semantics.conftest import Reader

PROGRAM = """
#define BLOCK 256
#define DIVUP(a, b) (((a) + (b) - 1) / (b))
constexpr int kThreads = 128;
static int divide_up(int a, int b) {{ return (a + b - 1) / b; }}
__global__ void k(float* p) {{ *p = 0; }}
void run(float* f, int n) {{ {launch} }}
"""


def shown(e: HostExpression) -> str:
    if e.operator == "number":
        return f"{e.value}" if e.place is None else f"[{e.value}]"
    if e.operator in ("name", "call"):
        name = e.name.partition(":")[0]
        return name if e.operator == "name" else f"{name}({', '.join(map(shown, e.operands))})"
    if e.operator == "cast":
        return f"cast({shown(e.operands[0])})"
    return "(" + f" {e.operator} ".join(map(shown, e.operands)) + ")"


@pytest.mark.parametrize(
    ("launch", "grid", "block"),
    [
        ("k<<<4, 64>>>(f);", "[4]", "[64]"),
        ("k<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(f);", "(((n + [256]) - [1]) / [256])", "[256]"),
        ("dim3 b(kThreads), g(DIVUP(n, b.x)); k<<<g, b>>>(f);", "(((n + [128]) - [1]) / [128])", "[128]"),
        ("int b = 96; k<<<divide_up(n, b), dim3(b)>>>(f);", "(((n + [96]) - [1]) / [96])", "[96]"),
        ("int b; b = 32; int g = n / b; k<<<g, b>>>(f);", "(n / [32])", "[32]"),
        ("int b = 32; b *= 2; k<<<n / b, b>>>(f);", "(n / b)", "b"),
        ("k<<<int(ceil(n / 64.0)), 64>>>(f);", "cast(ceil((cast(n) / [64.0])))", "[64]"),
        ("hipLaunchKernelGGL(k, dim3(n, 2), dim3(16, 8), 0, 0, f);", "n", "[16]"),
    ],
)
def test_sizes_lead_to_the_numbers_that_are_written(read: Reader, launch: str, grid: str, block: str) -> None:
    (found,) = read(PROGRAM.format(launch=launch)).launches()

    assert found.grid_sizes is not None
    assert found.block_sizes is not None
    assert (shown(found.grid_sizes[0]), shown(found.block_sizes[0])) == (grid, block)
    for sizes in (found.grid_sizes, found.block_sizes):
        for e in (below for side in sizes for below in side.walk()):
            if e.operator == "number" and e.place is not None:
                assert int(e.place.file.read_bytes()[slice(*e.place.span)]) == e.value


def test_the_sides_of_a_dim3_that_is_changed_are_not_said(read: Reader) -> None:
    (found,) = read(PROGRAM.format(launch="dim3 b(8, 8); b.x = n; k<<<1, b>>>(f);")).launches()

    assert found.block_sizes is None
