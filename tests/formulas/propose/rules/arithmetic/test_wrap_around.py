"""Remainders of places around one: the helpers that compare give what the division gives, for every value."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.rules.arithmetic.wrap_around import propose

ASKED = {
    "remainder_near": "(x + 1) % n",
    "wrapped_near": "(x - 2 + n) % n",
    "wrapped": "(x % n + n) % n",
}
# Values and sizes at the ends of what 32 bits hold, and around nothing; signed sums that overflow mean nothing.
CHECK = """
#include <cstdio>
#include <cstdint>
#include <initializer_list>
#define __device__
{helpers}
template <typename T, typename F, typename G> int check(F helper, G meaning) {{
  const int64_t places[] = {{0, 1, 2, 3, 7, 8, 100, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, 2147483647,
                             2147483648, 3000000000, 4294967295}};
  int wrong = 0;
  for (int64_t s : places)
    for (int64_t p : places)
      for (int64_t sign : {{-1, 1}})
        for (int64_t off = -3; off <= 3; ++off) {{
          const T value = static_cast<T>(sign * p + off), size = static_cast<T>(s);
          const bool is_signed = T(-1) < 0;
          const int64_t sum = static_cast<int64_t>(value) + size;
          if (size == 0 || (is_signed && (size < 0 || sum > 2147483647 || sum < -2147483648LL))) continue;
          wrong += helper(value, size) != meaning(value, size);
        }}
  return wrong;
}}
int main() {{
  const int wrong = check<int>({name}<int>, [](int value, int size) -> int {{ return {meaning}; }}) +
    check<unsigned>({name}<unsigned>, [](unsigned value, unsigned size) -> unsigned {{ return {meaning}; }});
  std::printf("%d", wrong);
  return 0;
}}
"""
MEANING = {
    "remainder_near": "value % size",
    "wrapped_near": "(value + size) % size",
    "wrapped": "(value % size + size) % size",
}


@pytest.mark.parametrize("name", ASKED)
def test_helpers_give_what_the_division_gives(name: str, tmp_path: Path) -> None:
    source = f"__global__ void k(float* a, int x, int n) {{\n  a[{ASKED[name]}] = 1;\n}}\n".encode()
    (kernel,) = parse(source).kernels
    found = propose(source, kernel, None, LaunchFacts())
    assert isinstance(found, list), found
    (candidate,) = found
    assert isinstance(candidate, Candidate)
    helpers, _, rest = candidate.text.decode().partition("__global__")
    assert f"{name}(" in rest
    file, program = tmp_path / "check.cpp", tmp_path / "check"
    file.write_text(CHECK.format(helpers=helpers, name=name, meaning=MEANING[name]))
    clang = find_toolchain(Config()).clang
    subprocess.run(
        [clang, "-x", "c++", "-std=c++17", "-O0", str(file), "-o", str(program)], check=True, timeout=60
    )
    ran = subprocess.run([str(program)], check=True, capture_output=True, timeout=60)
    assert ran.stdout == b"0"
