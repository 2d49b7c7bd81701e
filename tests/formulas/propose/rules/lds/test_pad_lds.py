"""LDS padding: when it is proposed, what exactly changes, and when it is refused and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.rules.lds.pad_lds import propose

Compile = Callable[..., CodeObject]

BLOCK = LaunchFacts((LaunchFact((64, 32, 1), (32, 8, 1)),))


def kernel_text(body: str, constants: str = "") -> bytes:
    text = (
        f"#include <hip/hip_runtime.h>\n{constants}\n__global__ void k(float* out, int n) {{\n  {body}\n}}\n"
    )
    return text.encode()


def asked(source: bytes, facts: LaunchFacts = BLOCK) -> Proposal:
    return propose(source, parse(source).kernels[0], None, facts)


def refused(source: bytes, facts: LaunchFacts = BLOCK) -> str:
    answer = asked(source, facts)
    assert isinstance(answer, Refusal), "expected a refusal"
    return answer.reason


def proposed(source: bytes, facts: LaunchFacts = BLOCK) -> list[Candidate]:
    answer = asked(source, facts)
    assert isinstance(answer, list), answer
    return answer


COLUMN = "tile[threadIdx.y][threadIdx.x] = n; __syncthreads(); out[0] = tile[threadIdx.x][threadIdx.y];"


def test_the_example_gets_one_more_column_and_nothing_else_changes(
    examples: Path, compile_text: Compile
) -> None:
    source = (examples / "lds_column_read.hip").read_bytes()
    (candidate,) = proposed(source)
    changed = [
        (a, b) for a, b in zip(source.splitlines(), candidate.text.splitlines(), strict=True) if a != b
    ]
    assert changed == [
        (b"  __shared__ float tile[kTile][kTile];", b"  __shared__ float tile[kTile][kTile + 1];")
    ]
    assert candidate.exact
    compiled = compile_text(candidate.text)
    assert [k.lds for k in compiled.kernels.values()] == [32 * 33 * 4]
    compile_text(candidate.text, arch="gfx1030")


def test_two_byte_elements_are_padded_by_a_whole_bank() -> None:
    (candidate,) = proposed(kernel_text(f"__shared__ short tile[32][64]; {COLUMN}"))
    assert b"tile[32][64 + 2]" in candidate.text


def test_several_arrays_give_one_candidate_each_and_one_for_all() -> None:
    body = "__shared__ float a[32][32]; __shared__ float b[32][32]; a[threadIdx.x][0] = 1; b[threadIdx.x][0] = 2;"
    texts = [c.text.count(b"+ 1]") for c in proposed(kernel_text(body))]
    assert texts == [1, 1, 2]


def test_a_size_with_operators_keeps_its_meaning() -> None:
    (candidate,) = proposed(kernel_text(f"__shared__ float tile[32][W << 1]; {COLUMN}", "#define W 16"))
    assert b"tile[32][(W << 1) + 1]" in candidate.text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"extern __shared__ float tile[][32]; {COLUMN}", "dynamic LDS"),
        ("__shared__ float tile[1024]; tile[threadIdx.x * 32] = 1;", "not a two-dimensional"),
        (
            "__shared__ float tile[32][32]; float* p = tile[0]; p[threadIdx.x] = 1;",
            "other than by full subscripts",
        ),
        ("__shared__ float tile[32][32]; float* p = &tile[0][0]; p[threadIdx.x] = 1;", "other than by full"),
        (f"__shared__ Thing tile[32][32]; {COLUMN}", "size of `Thing`"),
        (f"__shared__ float tile[512][32]; {COLUMN}", "bytes of LDS"),
        ("__shared__ float tile[32][32]; tile[threadIdx.y][threadIdx.x] = 1;", "as many bank conflicts"),
        ("out[threadIdx.x] = n;", "no __shared__ array"),
    ],
)
def test_it_is_refused_with_the_reason(body: str, reason: str) -> None:
    assert reason in refused(kernel_text(body))


def test_the_padded_transpose_example_is_left_alone(examples: Path) -> None:
    assert "as many bank conflicts" in refused((examples / "tiled_transpose.hip").read_bytes())


def test_without_a_captured_launch_it_is_still_proposed_where_the_syntax_allows() -> None:
    assert len(proposed(kernel_text(f"__shared__ float tile[32][32]; {COLUMN}"), LaunchFacts())) == 1


def test_windows_line_ends_survive() -> None:
    source = kernel_text(f"__shared__ float tile[32][32]; {COLUMN}").replace(b"\n", b"\r\n")
    (candidate,) = proposed(source)
    assert candidate.text.count(b"\r\n") == candidate.text.count(b"\n") == source.count(b"\n")
