"""Stores to LDS that wait for loads in branches: which may be made right before the barrier."""

from __future__ import annotations

import pytest

from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates

FILE = """
__device__ int shared_by_all;
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int a[64];
  __shared__ int b[64];
  int x = threadIdx.x, at = n * x;
  {phase}
  __syncthreads();
  out[x] = a[x] + b[x];
}}
"""
FIRST = "if (x < 8) a[x] = in[at];"
SECOND = "if (x > 50) a[x + 8] = in[at + n];"


def answer_for(phase: str, file: str = FILE) -> str:
    """What stands before the barrier in the candidate, or why there is none."""
    answer = ask("sink_stores", file.format(phase=phase).encode(), LaunchFacts())
    if isinstance(answer, Refusal):
        return answer.reason
    text = candidates(answer)[0].text.decode()
    before = text.partition("at = n * x;")[2].partition("__syncthreads")[0]
    return " ".join(" ".join(line for line in before.splitlines() if "//" not in line).split())


@pytest.mark.parametrize(
    ("phase", "after"),
    [
        (
            f"{FIRST} {SECOND}",
            (
                "int a_value, a_value_2; if (x < 8) a_value = in[at]; if (x > 50) a_value_2 = in[at + n];"
                " if (x < 8) a[x] = a_value; if (x > 50) a[x + 8] = a_value_2;"
            ),
        ),
        (
            f"b[x] = in[x]; at++; {SECOND}",
            (
                "int a_value; const int b_value = in[x]; at++; if (x > 50) a_value = in[at + n];"
                " b[x] = b_value; if (x > 50) a[x + 8] = a_value;"
            ),
        ),
        (
            "if (x < 8) { if (n == 1 || n == 3) a[x] = in[at]; else { b[x] = *in; } }",
            (
                "int a_value, b_value;"
                " if (x < 8) { if (n == 1 || n == 3) a_value = in[at]; else { b_value = *in; } }"
                " if (x < 8 && (n == 1 || n == 3)) a[x] = a_value;"
                " if (x < 8 && n != 1 && n != 3) b[x] = b_value;"
            ),
        ),
        (
            f"a[n] = 7; {FIRST} b[x] = 1; {SECOND}",
            (
                "a[n] = 7; int a_value, a_value_2; if (x < 8) a_value = in[at]; const int b_value = 1;"
                " if (x > 50) a_value_2 = in[at + n];"
                " if (x < 8) a[x] = a_value; b[x] = b_value; if (x > 50) a[x + 8] = a_value_2;"
            ),
        ),
    ],
)
def test_what_branches_load_is_stored_before_the_barrier(phase: str, after: str) -> None:
    assert answer_for(phase) == after


def test_a_barrier_on_the_same_line_stays_behind_the_stores() -> None:
    phase = f"{FIRST} {SECOND}"
    assert answer_for(phase, FILE.replace("\n", " ")) == answer_for(phase)


@pytest.mark.parametrize(
    "phase",
    [
        FIRST,  # nothing to overlap with
        f"{FIRST} if (x > 50) a[x + 8] = 0;",
        "if (x < 8) { a[x] = in[at]; b[x] = in[at + n]; }",  # the compiler loads both first
        f"{FIRST} out[x] = a[3]; {SECOND}",
        f"{FIRST} b[x] = a[x]; {SECOND}",
        f"{FIRST} a[x] += 2; {SECOND}",
        f"{FIRST} x = n; {SECOND}",
        f"if (x < 8) {{ int x = n; a[x] = in[at]; }} {SECOND}",
        f"if (x < 8) {{ a[x] = in[at]; x++; }} {SECOND}",
        f"if (in[x] < 8) a[x] = in[at]; {SECOND}",
        f"if (x < 8) a[in[x]] = in[at]; {SECOND}",
        f"if (x < 8) a[x++] = in[at]; {SECOND}",
        f"if (atomicAdd(out, 1) < 8) a[x] = in[at]; {SECOND}",
        f"{FIRST} if (n == 3) return; {SECOND}",
        f"{FIRST} at = __shfl(at, 3); {SECOND}",
        f"{FIRST} __threadfence_block(); {SECOND}",
        f"int& y = x; {FIRST} y = 3; {SECOND}",
        f"{FIRST} atomicAdd(&a[x], 3); {SECOND}",
        f"int* p = a; {FIRST} {SECOND} *p = 3;",
        f"for (int i = 0; i < n; ++i) {{ {FIRST} {SECOND} }}",
        f"if (shared_by_all < 3) a[x] = in[at]; {SECOND}",
        f"__shared__ int first; if (x < first) a[x] = in[at]; {SECOND}",
    ],
)
def test_others_stay_where_they_are(phase: str) -> None:
    assert "LDS" in answer_for(phase)


def test_an_array_that_others_may_look_at_stays() -> None:
    volatile = FILE.replace("__shared__ int a[64]", "__shared__ volatile int a[64]")
    dynamic = FILE.replace("__shared__ int a[64]", "extern __shared__ int a[]")
    for file in (volatile, dynamic):
        assert "LDS" in answer_for(f"{FIRST} {SECOND}", file)
        assert answer_for(f"{FIRST} {SECOND}".replace("a[", "b["), file).startswith("int b_value")


def test_macros_that_are_elements_are_stores_and_loads() -> None:
    hidden = FILE.replace("\n__global__", "\n#define PLACE(i) a[i]\n#define THIRD a[3]\n__global__")
    first, second = (text.replace("a[x]", "PLACE(x)") for text in (FIRST, SECOND))
    assert answer_for(f"{first} {second}", hidden) == (
        "int a_value, a_value_2; if (x < 8) a_value = in[at]; if (x > 50) a_value_2 = in[at + n];"
        " if (x < 8) PLACE(x) = a_value; if (x > 50) a[x + 8] = a_value_2;"
    )
    assert "no two" in answer_for(f"{first} out[x] = PLACE(3); {second}", hidden)
    assert "`THIRD`" in answer_for(f"{first} out[x] = THIRD; {second}", hidden)


def test_a_condition_in_a_macro_has_to_stay_true() -> None:
    file = FILE.replace("\n__global__", "\n#define LOW(i) ((i) < n + x)\n__global__")
    first = "if (LOW(8)) a[x] = in[at];"
    assert "if (LOW(8)) a[x] = a_value;" in answer_for(f"{first} {SECOND}", file)
    assert "no two" in answer_for(f"{first} n++; {SECOND}", file)
