"""Division by powers of two: the helpers give what the division gives for every value; where nothing is proposed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipscope.accordo import api as accordo
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import FOLDER, ask, candidates, facts_of, read_facts

CASE = FOLDER / "power_of_two" / "channels.hip"
CHECK = """
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#define __device__
static int __clz(int x) {{ return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }}
{helpers}
template <typename T> int check() {{
  const int64_t values[] = {{0, 1, 2, 3, 7, 8, 100, 1 << 24, (1 << 30) - 1, 1 << 30, (1 << 30) + 1,
                             2147483647, 2147483648, 3000000000, 4294967295}};
  int wrong = 0;
  for (int64_t size : values)
    for (int64_t value : values)
      for (int64_t sign : {{-1, 1}})
        for (int64_t side : {{-1, 1}}) {{
          const T a = static_cast<T>(sign * value), n = static_cast<T>(side * size);
          if (n == 0 || (T(-1) < 0 && n == T(-1) && a == T(1ull << 31))) continue;
          wrong += remainder_by(a, n) != a % n || quotient_by(a, n) != a / n;
        }}
  return wrong;
}}
int main() {{ std::printf("%d", check<int>() + check<unsigned>()); }}
"""


def launched(**scalars: int) -> LaunchFacts:
    return facts_of({"launches": [[[4096, 1, 1], [256, 1, 1], scalars]]})


def kernel(body: str, parameters: str = "int n") -> bytes:
    return f"__global__ void k(int* out, {parameters}) {{\n  int i = threadIdx.x;\n  {body}\n}}\n".encode()


def test_helpers_give_what_the_division_gives(tmp_path: Path) -> None:
    source = CASE.read_bytes()
    (candidate,) = candidates(ask("power_of_two", source, read_facts(source)))
    helpers = candidate.text.decode().partition("#include <hip/hip_runtime.h>")[2].partition("__global__")[0]
    file, program = tmp_path / "check.cpp", tmp_path / "check"
    file.write_text(CHECK.format(helpers=helpers))
    compiler = find_toolchain(Config()).clang
    subprocess.run([compiler, "-std=c++17", "-o", program, file], check=True)
    assert subprocess.run([program], capture_output=True, check=True).stdout == b"0"


@pytest.mark.parametrize(
    ("body", "parameters", "call"),
    [
        ("out[i] = i % n;", "unsigned n", "remainder_by(static_cast<unsigned>(i), n)"),  # as C++ converts
        ("out[i] = threadIdx.x / n;", "int n", "quotient_by(threadIdx.x, static_cast<unsigned>(n))"),
        ("out[i] = (i + 1) / n;", "const int n", "quotient_by((i + 1), n)"),
        ("out[i] = 100 % n;", "int n", "remainder_by(100, n)"),
    ],
)
def test_operands_of_two_signs_are_unsigned(body: str, parameters: str, call: str) -> None:
    (candidate,) = candidates(ask("power_of_two", kernel(body, parameters), launched(n=8)))
    assert f"out[i] = {call};" in candidate.text.decode()


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        ("out[i] = i % n; n = 3;", "int n"),  # it changes
        ("out[i] = i % n;", "long n"),
        ("out[i] = (i + 1u) % n;", "int n"),
        ("out[i] = (long)i / n;", "int n"),
        ("out[i] = out[i] % n;", "int n"),  # what memory holds has no type here
        ("out[i] = (i < 3) % n;", "int n"),
        ("int n = 3; out[i] = i % n;", "int n"),  # another variable
        ("out[i] = i % 8;", "int n"),  # the compiler knows that
        ("out[i] = i % n;", "volatile int n"),
    ],
)
def test_other_divisions_stay(body: str, parameters: str) -> None:
    assert isinstance(ask("power_of_two", kernel(body, parameters), launched(n=8)), Refusal)


@pytest.mark.parametrize("facts", [launched(n=12), launched(n=0), launched(n=-8), launched(), LaunchFacts()])
def test_nothing_is_proposed_where_no_launch_showed_a_power_of_two(facts: LaunchFacts) -> None:
    found = ask("power_of_two", kernel("out[i] = i % n;"), facts)
    assert isinstance(found, Refusal)
    assert found.reason == "`n` was no power of two in a recorded launch"


@pytest.mark.slow
def test_the_edit_does_the_same_on_all_that_the_proof_tries(tmp_path: Path) -> None:
    host = """
int main() {
  float *in, *out;
  hipMalloc(&in, 65536 * 4);
  hipMalloc(&out, 65536 * 4);
  hipMemset(in, 1, 65536 * 4);
  to_channels_last<<<256, 256>>>(in, out, 65536, 64, 32);
  return hipDeviceSynchronize();
}
"""
    first, second = tmp_path / "first.hip", tmp_path / "second.hip"
    first.write_text(CASE.read_text() + host)
    second.write_text(CASE.with_suffix(".out.hip").read_text() + host)
    with accordo.capture(first, kernel="to_channels_last") as recording:
        verdict = accordo.compare(recording, second)
    assert verdict.outcome == "equivalent", verdict.reason
    assert verdict.bit_exact
