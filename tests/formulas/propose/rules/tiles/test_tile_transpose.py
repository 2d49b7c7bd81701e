"""Transposition through LDS and exchanging thread roles: what is proposed for which kernel, and when not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Refusal
from hipscope.formulas.propose.rules.memory import index_swap
from hipscope.formulas.propose.rules.tiles import tile_transpose

Compile = Callable[..., CodeObject]


def launched(x: int, y: int, **scalars: int) -> LaunchFacts:
    return LaunchFacts((LaunchFact((x * 40, y * 30, 1), (x, y, 1), scalars=scalars),))


SIZES = {"w": 1210, "h": 870}
HEAD = "#include <hip/hip_runtime.h>\n__global__ void k(const float* in, float* out, int w, int h) {\n"
PLACE = (
    "  const int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  const int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
)
GUARDED = "  if (x < w && y < h) {\n    out[x * h + y] = in[y * w + x];\n  }\n"


def kernel_text(body: str) -> bytes:
    return f"{HEAD}{PLACE}{body}}}\n".encode()


def asked(recipe: ModuleType, source: bytes, facts: LaunchFacts) -> list[Candidate] | Refusal:
    answer = recipe.propose(source, parse(source).kernels[0], None, facts)
    assert isinstance(answer, list | Refusal)
    return answer


def only(recipe: ModuleType, source: bytes, facts: LaunchFacts) -> str:
    answer = asked(recipe, source, facts)
    assert isinstance(answer, list), answer
    assert len(answer) == 1
    assert answer[0].exact
    return answer[0].text.decode()


def test_the_example_goes_through_a_padded_tile(examples: Path, compile_text: Compile) -> None:
    source = (examples / "strided_access.hip").read_bytes()
    text = only(tile_transpose, source, launched(32, 32, width=2310, height=1930))
    assert "__shared__ float tile[32][33];" in text
    assert "tile[threadIdx.y][threadIdx.x] = in[y * width + x];" in text
    assert "out[store_x * height + store_y] = tile[store_thread_y][store_thread_x];" in text
    assert [k.lds for k in compile_text(text.encode()).kernels.values()] == [32 * 33 * 4]
    compile_text(text.encode(), arch="gfx1030")


def test_the_barrier_stands_outside_of_both_guards() -> None:
    text = only(tile_transpose, kernel_text(GUARDED), launched(32, 8, **SIZES))
    (kernel,) = parse(text.encode()).kernels
    assert [b.divergent for b in kernel.barriers] == [None]


def test_blocks_that_are_not_square_get_a_tile_of_their_shape() -> None:
    text = only(tile_transpose, kernel_text(GUARDED), launched(32, 8, **SIZES))
    assert "__shared__ float tile[8][36];" in text
    assert "blockDim.x == 32 && blockDim.y == 8 && blockDim.z == 1" in text


def test_another_block_shape_still_runs_the_original_work() -> None:
    text = only(tile_transpose, kernel_text(GUARDED), launched(32, 8, **SIZES))
    assert "} else {" in text
    assert "out[x * h + y] = in[y * w + x];" in text


def test_a_strided_load_is_renumbered_instead_of_the_store(compile_text: Compile) -> None:
    body = (
        "  if (x >= w || y >= h) return;\n  const int from = x * h + y;\n  const float v = 2.0f * in[from];\n"
        "  out[y * w + x] = v + x;\n"
    )
    text = only(tile_transpose, kernel_text(body), launched(32, 32, **SIZES))
    assert "in[load_from]" in text
    assert "return;" not in text
    assert "const float v = 2.0f * tile[threadIdx.y][threadIdx.x];" in text
    compile_text(text.encode())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("  if (x < w && y < h) out[y * w + x] = in[y * w + x];\n", "no access would touch fewer"),
        ("  out[x * h + y] = in[y * w + x]; __syncthreads();\n", "already work together"),
        ("  out[x * h + y] = __shfl_down(in[y * w + x], 1);\n", "which lanes share a wave"),
        ("  for (int k = 0; k < 4; ++k) out[x * h + y + k] = in[y * w + x];\n", "in a loop"),
        ("  out[x * h + y] = in[y * w + x]; out[x * h] = 0;\n", "exactly one element"),
        ("  out[x * h + in[y]] = in[y * w + x];\n", "cannot be worked out"),
        ("  int z = x; z = y; out[x * h + y] = in[z * w + x];\n", "changed after its declaration"),
        (
            "  if (x < w) { if (y < h) out[x * h + y] = in[y * w + x]; else out[0] = 1; }\n",
            "exactly one element",
        ),
        ("  out[x * h + y] = x < w ? in[y * w + x] : 0;\n", "further condition"),
    ],
)
def test_it_is_refused_with_the_reason(body: str, reason: str) -> None:
    answer = asked(tile_transpose, kernel_text(body), launched(32, 32, **SIZES))
    assert isinstance(answer, Refusal)
    assert reason in answer.reason


def test_without_a_captured_launch_nothing_is_proposed() -> None:
    answer = asked(tile_transpose, kernel_text(GUARDED), LaunchFacts())
    assert isinstance(answer, Refusal)
    assert "no captured launch" in answer.reason


def test_rows_of_threads_alone_cannot_be_transposed() -> None:
    answer = asked(tile_transpose, kernel_text(GUARDED), launched(256, 1, **SIZES))
    assert isinstance(answer, Refusal)
    assert "256 x 1 x 1" in answer.reason


def test_accesses_that_all_run_along_y_get_exchanged_thread_roles(compile_text: Compile) -> None:
    body = "  if (x < h && y < w) out[x * w + y] = 2.0f * in[x * w + y];\n"
    text = only(index_swap, kernel_text(body), launched(32, 8, **SIZES))
    assert "blockIdx.x * blockDim.x + thread_x" in text
    assert "blockIdx.y * blockDim.y + thread_y" in text
    compile_text(text.encode())
    compile_text(text.encode(), arch="gfx1030")


def test_roles_are_exchanged_where_a_quarter_of_the_lines_is_left_out() -> None:
    """Elements of 16 bytes, four side by side: sixteen lines for a wave, twelve or less with the roles exchanged."""
    body = "  if (x < h && y < w) out[x * w + y] = in[x * w + y];\n"
    source = kernel_text(body).replace(b"float", b"double2")
    text = only(index_swap, source, launched(16, 12, w=192, h=640))
    assert "blockIdx.x * blockDim.x + thread_x" in text


def test_the_older_spelling_of_thread_indices_is_understood(compile_text: Compile) -> None:
    source = kernel_text(GUARDED)
    for name in ("threadIdx", "blockIdx", "blockDim"):
        older = "hip" + name[0].upper() + name[1:]
        source = source.replace(f"{name}.".encode(), f"{older}_".encode())
    text = only(tile_transpose, source, launched(32, 32, **SIZES))
    assert "hipBlockIdx_x * hipBlockDim_x + store_thread_x" in text
    compile_text(text.encode())


def test_roles_are_not_exchanged_when_another_access_would_get_worse() -> None:
    answer = asked(index_swap, kernel_text(GUARDED), launched(32, 32, **SIZES))
    assert isinstance(answer, Refusal)
    assert "more cache lines" in answer.reason


def test_indentation_and_line_ends_of_the_file_are_kept() -> None:
    source = kernel_text(GUARDED).replace(b"  ", b"\t").replace(b"\n", b"\r\n")
    text = only(tile_transpose, source, launched(32, 32, **SIZES))
    assert text.count("\r\n") == text.count("\n")
    assert "\r\n\t\t__syncthreads();\r\n" in text
