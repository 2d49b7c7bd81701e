"""Aliases, templates and functors around a loop of compare-and-swap, resolved by the compiler's own reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.formulas.facts.called_functions import called_functions
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.facts.source_types import source_types
from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.recipes.native_atomic import propose

TEXT = """#include <hip/hip_runtime.h>
using word = unsigned long long;
typedef unsigned int bits_t;
struct Plus { __device__ float operator()(float a, float b) const { return a + b; } };
struct Scaled { float by; __device__ float operator()(float a, float b) const { return a + by * b; } };
struct Twice { __device__ int operator()(int a, int b) const { a *= 2; return a + b; } };
template <class T> struct Larger { __device__ static T apply(const T& a, const T& b) { return a < b ? b : a; } };
template <class Op, class T> __device__ T fetch_op(T* where, T value) {
  using Word = unsigned long long;
  Word old = *reinterpret_cast<volatile Word*>(where), seen;
  do {
    seen = old;
    const T next = Op::apply(static_cast<T>(seen), value);
    old = atomicCAS(reinterpret_cast<Word*>(where), seen, static_cast<Word>(next));
  } while (seen != old);
  return static_cast<T>(old);
}
__global__ void functor(float* out, float x) {
  Plus plus;
  bits_t* where = (bits_t*)(out + threadIdx.x);
  bits_t old = *where, seen;
  do {
    seen = old;
    old = atomicCAS(where, seen, __float_as_uint(plus(__uint_as_float(seen), x)));
  } while (seen != old);
}
__global__ void largest(unsigned long* out, unsigned long x) {
  word* where = (word*)out;
  word old = *where, seen;
  do { seen = old; old = atomicCAS(where, seen, (word)Larger<unsigned long>::apply((unsigned long)seen, x)); }
  while (seen != old);
}
__global__ void stateful(float* out, float x, Scaled op) {
  unsigned* where = (unsigned*)out;
  unsigned old = *where, seen;
  do { seen = old; old = atomicCAS(where, seen, __float_as_uint(op(__uint_as_float(seen), x))); } while (seen != old);
}
__global__ void changing(int* out, int x) {
  int old = *out, seen;
  do { seen = old; old = atomicCAS(out, seen, Twice{}(seen, x)); } while (seen != old);
}
__global__ void generic(unsigned long* out, unsigned long x) { fetch_op<Larger<unsigned long>>(out, x); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Meaning:
    file = tmp_path_factory.mktemp("returned") / "p.hip"
    file.write_text(TEXT)
    toolchain = find_toolchain(Config())
    command = SourceCommand(file, file.parent, toolchain.hip_flags, (file.parent,))
    return units_for(toolchain.clang).meaning(SourceTexts(), command, ())


def answer(program: Meaning, kernel: str) -> str:
    """The titles of the rewrites of a kernel, or why there is none."""
    text, syntax = program.file.read_bytes(), parse(TEXT.encode()).kernel(kernel)
    assert syntax is not None
    symbol = next(f.key for f in program.by_key.values() if f.kernel and f.name == kernel)
    types = source_types(program, [symbol], program.file, text, SourceTexts())
    found = propose(text, syntax, None, LaunchFacts(types=types))
    if isinstance(found, list):
        return " ".join(candidate.title for candidate in found)
    assert isinstance(found, Refusal)
    return found.reason


@pytest.mark.parametrize(("kernel", "operation"), [("functor", "atomicAdd"), ("largest", "atomicMax")])
def test_what_a_functor_or_a_static_member_computes_is_read_through_aliases(
    program: Meaning, kernel: str, operation: str
) -> None:
    assert f"Use {operation}" in answer(program, kernel)


@pytest.mark.parametrize(("kernel", "call"), [("stateful", "op"), ("changing", "Twice{}")])
def test_what_has_state_or_statements_is_not_followed(program: Meaning, kernel: str, call: str) -> None:
    assert f"`{call}` on line" in answer(program, kernel)


def test_what_a_templates_argument_decides_is_named_with_what_to_write(program: Meaning) -> None:
    symbol = next(f.key for f in program.by_key.values() if f.kernel and f.name == "generic")
    called = called_functions(program, [symbol], LaunchFacts(), SourceTexts(), Path(program.file.parent))
    one = next(f for f in called if f.syntax.name == "fetch_op")
    found = propose(one.source, one.syntax, None, one.facts)
    assert isinstance(found, Refusal)
    assert (
        "it is atomicMax where `Op` is `Larger<unsigned long>`, and `Op` may be something else"
        in found.reason
    )
