"""Arrays of constants: which are certain to be the same at each read, and what loops and calls fill them with."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates, output_of

FILE = """
#define TWO (1 + 1)
#define BARE 1 + 1
#define AGAIN 1
#undef AGAIN
#define AGAIN 2
constexpr int FIVE = 2 + 3;
const int SHADOWED = 4;
constexpr float REAL = 4;
__device__ int other(int SHADOWED) {{ return SHADOWED; }}
template <typename T> __device__ void put(T* to, T value) {{ *to = value; }}
__device__ int sum(const int* of) {{ return of[0] + of[1]; }}
__device__ void set(int to[3], int place) {{ to[place] = 2 * place; }}
__device__ void over(int to[3], int place) {{ to[place] = 2 * place; }}
__device__ void over(int to[3], long place) {{ to[place] = 3 * place; }}
__global__ void k(int* out, const int* in, int n) {{
  {type} t[3];
  {fill}
  out[threadIdx.x] = t[in[threadIdx.x]];
  {rest}
}}
"""
STORES = "t[0] = 4; t[1] = TWO; t[2] = -7;"
LOOP = "for (int i = 0; i < 3; ++i)"


def answer_for(fill: str, rest: str = "", kind: str = "int") -> str:
    """The line of the table, or why there is none."""
    text = FILE.format(type=kind, fill=fill, rest=rest).encode()
    answer = ask("constant_table", text, LaunchFacts())
    if isinstance(answer, Refusal):
        return answer.reason
    lines = candidates(answer)[0].text.decode().splitlines()
    return next(line.strip() for line in lines if "constexpr" in line and " t[" in line)


@pytest.mark.parametrize(
    ("fill", "kind", "values"),
    [
        (STORES, "int", "4, TWO, -7"),
        ("t[2] = 3; t[0] = BARE; t[1] = 2;", "float", "BARE, 2, 3"),
        (f"{LOOP} t[i] = (i - 1) / TWO + 5 % (i - 4);", "int", "1, 2, 1"),
        (f"{LOOP} set(t, i);", "int", "0, 2, 4"),
        (f"{LOOP} t[i] = FIVE * i;", "int", "0, 5, 10"),
        ("t[0] = 1; t[1] = 2; t[2] = 3; t[0] = 5;", "int", "5, 2, 3"),
        (f"{LOOP} t[i] = i * i;", "double", "0, 1, 4"),
        ("t[0] = 7; int k = 1; for (k = 1; k < 3; k++) t[k] = t[k - 1] * 2;", "int", "7, 14, 28"),
        ("int k; for (k = 0; k < 3; k++) { int j = k; j *= j; t[k] = j; }", "int", "0, 1, 4"),
        (f"{LOOP} t[i] = i > 0;", "bool", "0, 1, 1"),
    ],
)
def test_constants_are_written_out(fill: str, kind: str, values: str) -> None:
    assert answer_for(fill, kind=kind) == f"constexpr {kind} t[3] = {{{values}}};"


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        ("t[0] = 1; t[1] = n; t[2] = 3;", "more than read"),
        ("t[0] = 1; t[1] = sum(in); t[2] = 3;", "more than read"),
        ("t[0] = 1; if (n > 1) t[1] = 2; t[2] = 3;", "more than read"),
        ("t[0] = 1; t[2] = 3;", "from its first element"),
        ("out[0] = t[0]; t[0] = 1;", "fills no array"),
        (f"{LOOP} t[i] = in[i];", "fills no array"),
        (f"{LOOP} t[i] = n * i;", "fills no array"),
        (f"{LOOP} t[i] = 8 / (i - 1);", "fills no array"),
        (f"{LOOP} t[i] = 2000000000 * i;", "fills no array"),
        (f"{LOOP} t[i] = i * 1u;", "fills no array"),
        (f"{LOOP} t[i] = i * BARE;", "fills no array"),
        (f"{LOOP} t[i] = i * AGAIN;", "fills no array"),
        (f"{LOOP} t[i] = i * SHADOWED;", "fills no array"),
        (f"{LOOP} t[i] = i * REAL;", "fills no array"),
        (f"{LOOP} over(t, i);", "fills no array"),
        (f"{LOOP} {{ if (i == 1) break; t[i] = i; }}", "fills no array"),
        ("for (int i = 0; i < 3; i += 0) t[i] = i;", "fills no array"),
        ("int k = 0; for (int i = 0; i < 3; ++i) t[k++] = k;", "fills no array"),
        ("int k = 0; for (k = 0; k < 3; ++k) t[k] = k; out[1] = k;", "fills no array"),
        ("int k; for (int i = 0; i < 3; ++i) t[i] = k;", "fills no array"),
    ],
)
def test_what_may_be_no_constant_is_left_alone(fill: str, reason: str) -> None:
    assert reason in answer_for(fill)


@pytest.mark.parametrize(
    "rest",
    [
        "t[1] = 5;",
        "t[n]++;",
        "put(&t[1], 5);",
        "out[1] = sum(t);",
        "out[1] = sizeof(t);",
        'asm("" : "+v"(t[0]));',
    ],
)
def test_what_may_be_written_later_or_handed_on_is_left_alone(rest: str) -> None:
    assert "more than read" in answer_for(STORES, rest)
    assert "t[3] = {" in answer_for(STORES, "out[1] = t[n] + t[0];")


@pytest.mark.parametrize(
    ("kind", "fill"),
    [
        ("float", f"t[0] = 1; {LOOP} t[i] = t[0] / 2;"),
        ("unsigned", f"t[0] = 1; {LOOP} t[i] = (t[0] - 2) / 2;"),
        ("unsigned char", f"{LOOP} t[i] = 256 * i; {LOOP} t[i] = t[i] / 256;"),
        ("bool", f"{LOOP} t[i] = 0; {LOOP} t[i] += i; {LOOP} t[i] -= 1;"),
        ("int", f"{LOOP} t[i] = 0; {LOOP} t[i] += i * 2000000000; {LOOP} t[i] /= 2;"),
    ],
)
def test_what_an_element_cannot_hold_is_not_worked_out(kind: str, fill: str) -> None:
    assert "constexpr" not in answer_for(fill, kind=kind)


@pytest.mark.parametrize(("kind", "value"), [("unsigned char", "300"), ("unsigned", "-1"), ("bool", "2")])
def test_a_value_that_its_type_changes_is_left_alone(kind: str, value: str) -> None:
    assert "changed by its type" in answer_for(f"t[0] = {value}; t[1] = 1; t[2] = 1;", kind=kind)


def test_a_long_table_is_left_alone() -> None:
    assert "more than 256" in answer_for("for (int i = 0; i < 300; ++i) t[i] = i;")


PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#define ROWS (3 + 4)
__device__ void row(short to[ROWS][4], int first, int number) {
  for (int i = 0; i < 4; ++i) to[number][i] = (first - 9 * i) / 4 + first % 3 - i % 2;
}
__global__ void show(int* out, const int* in) {
  short t[ROWS][4];
  int k = 0, first = -8;
  for (int i = 0; i < ROWS - 2; i++) {
    row(t, first, k++);
    first += 5;
  }
  for (k = k * 1; k < ROWS; ++k) for (int i = 3; i >= 0; i -= 1) t[k][i] = i == 2;
  out[threadIdx.x] = t[in[threadIdx.x] / 4][in[threadIdx.x] % 4];
}
int main() {
  int host[28], *in, *out;
  for (int i = 0; i < 28; ++i) host[i] = i;
  (void)hipMalloc(&in, sizeof(host));
  (void)hipMalloc(&out, sizeof(host));
  (void)hipMemcpy(in, host, sizeof(host), hipMemcpyHostToDevice);
  show<<<1, 28>>>(out, in);
  (void)hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  for (int value : host) printf("%d ", value);
  return hipDeviceSynchronize();
}
"""


def test_loops_and_calls_are_worked_out_as_the_gpu_does(tmp_path: Path) -> None:
    source = PROGRAM.encode()
    (rewritten,) = candidates(ask("constant_table", source, LaunchFacts()))
    assert rewritten.exact
    assert b"constexpr short t[ROWS][4] = {" in rewritten.text
    before, after = output_of(source, tmp_path / "before"), output_of(rewritten.text, tmp_path / "after")
    assert len(before.split()) == 28
    assert before == after
