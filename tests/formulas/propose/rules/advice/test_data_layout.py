"""Advice for data that lie in memory so that the lanes of a wave are far apart."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Refusal
from hipscope.formulas.propose.rules.advice.data_layout import propose


def answer(parameters: str, body: str, sizes: Mapping[str, int] | None = None) -> Advice | Refusal:
    text = f"__global__ void k({parameters}) {{\n  int t = blockIdx.x * blockDim.x + threadIdx.x;\n  {body}\n}}\n"
    (kernel,) = parse(text.encode()).kernels
    launch = LaunchFact(grid=(4096, 1, 1), workgroup=(128, 1, 1), scalars={"n": 512})
    found = propose(text.encode(), kernel, None, LaunchFacts(launches=(launch,), type_bytes=sizes or {}))
    assert isinstance(found, Advice | Refusal)
    return found


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) sum += in[t * n + i];",
        "for (int i = 2; i < n; i++) sum += in[(size_t)t * 512 + i];",
        "for (int i = 0; i < n; i += 1) { sum += in[i + n * t]; }",
        "const float* row = in + (size_t)t * n; for (int i = 0; i < n; ++i) sum += row[i];",
        "for (int b = 0; b < 2; ++b) for (int i = 0; i < n; ++i) sum += in[b + n * t + i];",
    ],
)
def test_threads_that_walk_along_rows_are_told_to_share_them(loop: str) -> None:
    advice = answer("const float* in, float* out, int n", f"float sum = 0; {loop} out[t] = sum;")
    assert isinstance(advice, Advice), advice
    assert advice.recipe == "row_per_wave"
    assert "each row of `in`" in advice.title
    assert "consecutive `i`" in advice.title
    assert "512 elements from its neighbour's" in advice.title


@pytest.mark.parametrize(
    "loop",
    [
        "for (int k = row[t]; k < row[t + 1]; k++) sum += val[k] * x[col[k]];",
        "int k; for (k = row[t]; k < row[t + 1]; ++k) { sum += x[col[k]] * val[k]; }",
        "const int from = row[t], to = row[t + 1]; for (int k = from; k < to; ++k) sum += val[k];",
    ],
)
def test_threads_that_walk_along_rows_of_a_sparse_matrix_are_told_to_share_them(loop: str) -> None:
    sparse = "const int* row, const int* col, const double* val, const double* x, double* y, int n"
    advice = answer(sparse, f"double sum = 0; if (t < n) {{ {loop} y[t] = sum; }}")
    assert isinstance(advice, Advice), advice
    assert advice.recipe == "row_per_wave"
    assert "consecutive `k`" in advice.title
    assert "from `row[t]` on" in advice.title


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; i++) c = table[(c ^ in[t * n + i]) & 255] ^ (c >> 8);",
        "for (int i = 0; i < n; i++) { unsigned next = c * 31; c = next + in[t * n + i]; }",
        "for (int i = 0; i < n; i++) { c *= 31; c ^= in[t * n + i]; c = c * 7 + i; }",
    ],
)
def test_threads_whose_steps_need_the_one_before_are_told_to_load_wider(loop: str) -> None:
    parameters = "const unsigned char* in, const unsigned* table, unsigned* out, int n"
    advice = answer(parameters, f"unsigned c = 0; {loop} out[t] = c;", {"unsigned char": 1})
    assert isinstance(advice, Advice), advice
    assert advice.recipe == "wide_loads"
    assert "Load 16 elements of a row of `in` at once (16 bytes)" in advice.title
    assert "sums" not in advice.reason


def test_sums_are_named_only_where_a_loop_has_some() -> None:
    parameters = "const float* in, float* out, int n"
    alone = answer(parameters, "for (int i = 0; i < n; i++) out[t * n + i] = 2 * in[t * n + i];")
    best = answer(
        parameters, "float m = 0; for (int i = 0; i < n; i++) m = fmaxf(m, in[t * n + i]); out[t] = m;"
    )
    both = answer(
        parameters, "float c, s = 0; for (int i = 0; i < n; i++) { c = in[t * n + i]; s += c; } out[t] = s;"
    )
    assert [isinstance(a, Advice) and "sums" in a.reason for a in (alone, best, both)] == [False, False, True]


def test_a_row_that_all_lanes_share_is_no_such_row() -> None:
    body = "double sum = 0; for (int k = row[blockIdx.x]; k < n; ++k) sum += val[k]; y[t] = sum;"
    assert isinstance(answer("const int* row, const double* val, double* y, int n", body), Refusal)


def test_a_member_of_large_structures_is_told_to_lie_apart() -> None:
    advice = answer("Particle* p, int n", "p[t].x += p[t].vx;", {"Particle": 88})
    assert isinstance(advice, Advice), advice
    assert advice.recipe == "structure_of_arrays"
    assert "`x` of all elements of `p`" in advice.title
    assert "88 bytes" in advice.title


@pytest.mark.parametrize(
    ("parameters", "body", "sizes"),
    [
        (
            "const float* in, float* out, int n",
            "for (int i = 0; i < n; ++i) out[i * n + t] = in[i * n + t];",
            {},
        ),
        ("const float* in, float* out, int n", "for (int i = 0; i < n; i += 2) out[t] += in[t * n + i];", {}),
        (
            "const float* in, float* out, int n",
            "for (int i = 0; i < n; ++i) out[t] += in[t * n + 2 * i];",
            {},
        ),
        (
            "const float* in, float* out, int n",
            "const float* row = in + t; for (int i = 0; i < n; ++i) out[t] += row[i * n];",
            {},
        ),
        (
            "const float* in, float* out, int n",
            "const float* row = next(in); for (int i = 0; i < n; ++i) out[t] += row[t * n + i];",
            {},
        ),
        ("const float* in, float* out", "for (int i = 0; i < 8; ++i) out[t] += in[t * 8 + i];", {}),
        (
            "const float* in, float* out, int n",
            "for (int i = t - 1; i <= t + 1; ++i) out[t] += in[t * n + i];",
            {},
        ),
        ("const float4* in, float* out", "out[t] = in[t].x;", {}),
        ("const Cell* in, float* out", "out[t] = in[t].x;", {"Cell": 16}),
        ("const Cell* in, float* out", "out[t] = in[t].x;", {}),
        ("const Cell* in, Cell* out", "out[t] = in[t];", {"Cell": 64}),
        ("const int* where, const float* in, float* out", "out[t] = in[where[t]];", {}),
    ],
)
def test_other_accesses_get_no_advice(parameters: str, body: str, sizes: Mapping[str, int]) -> None:
    assert isinstance(answer(parameters, body, sizes), Refusal)
