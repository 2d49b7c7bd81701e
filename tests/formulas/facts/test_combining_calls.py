"""Which calls combine numbers in any order, by what the compiler says of their callees."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.formulas.facts.combining_calls import combining_calls

TEXT = """#include <hip/hip_runtime.h>
template <typename T> struct Plus { __device__ T operator()(const T& a, const T& b) const { return a + b; } };
template <typename T> struct Less { __device__ T operator()(T a, T b) const { return (b < a) ? b : a; } };
struct Scaled { float by; __device__ float operator()(float a, float b) const { return a + b * by; } };
struct Mean { __device__ float operator()(float a, float b) const { return (a + b) / 2; } };
struct Other { __device__ int operator()(int a, int b) const { return a != 0 ? a : b; } };
struct Once { __device__ int operator()(int a, int b) const { return a + a; } };
struct Rounded { __device__ int operator()(int a, int b) const { return a + b; } };
__device__ int calls;
struct Counting { __device__ int operator()(int a, int b) const { calls++; return a | b; } };
struct Pair { float x; };
__device__ Pair operator+(Pair a, Pair b) { return a.x != 0 ? a : b; }
__device__ int bits(int a, int b) { return b | a; }
__device__ int own_max(int a, int b) { return a; }
namespace own { __device__ int max(int a, int b) { return a; } }
struct Hidden { __device__ int operator()(int a, int b) const { using own::max; return max(a, b); } };
struct Mine { __device__ int max(int a, int b) const { return a; }
              __device__ int operator()(int a, int b) const { return max(a, b); } };
__global__ void plain(int* x) { x[0] = bits(x[0], x[1]); x[2] = own_max(x[0], x[1]); x[3] = bits(x[1], 2) - 1; }
"""
KERNEL = "template <typename T, typename F> __global__ void {}(T* x, F op) {{ x[0] = op(x[0], x[1]); }}\n"
RUN = """void run(int* i, float* f, unsigned* u, Pair* p) {
  plain<<<1, 1>>>(i);
  auto lambda = [] __device__(unsigned one, unsigned two) { return max(two, one); };
  auto any = [] __device__(auto one, auto two) { return one * two; };
"""
COMBINE = {
    "sum": ("(i, Plus<int>())",),
    "floats": ("(f, Plus<float>())",),
    "several": ("(i, Plus<int>())", "(f, Less<float>())"),
    "largest": ("(u, lambda)",),
    "product": ("(f, any)", "(u, lambda)"),
}
DEPEND = {
    "scaled": ("(f, Scaled{2})",),
    "mean": ("(f, Mean())",),
    "other": ("(i, Other())",),
    "once": ("(i, Once())",),
    "rounded": ("(f, Rounded())",),
    "counting": ("(i, Counting())",),
    "pairs": ("(p, Plus<Pair>())",),
    "hidden": ("(i, Hidden())",),
    "mine": ("(i, Mine())",),
    "one_of_two": ("(i, Plus<int>())", "(i, Other())"),
}


@dataclass(frozen=True)
class Program:
    """What the compiler says of all these kernels."""

    meaning: Meaning
    text: str

    def known(self, kernel: str) -> dict[str, bool]:
        """The calls in the kernel's text that combine, and whether exactly."""
        functions = [f for f in self.meaning.by_key.values() if f.kernel and f.name == kernel]
        assert functions
        assert not any(self.meaning.doubts(f.key) for f in functions)
        found = combining_calls(self.meaning, functions, SourceTexts())
        return {self.text[start:end]: exact for (start, end), exact in found.items()}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    cases = {**COMBINE, **DEPEND}
    launches = [f"  {name}<<<1, 1>>>{given};\n" for name, listed in cases.items() for given in listed]
    text = TEXT + "".join(map(KERNEL.format, cases)) + RUN + "".join(launches) + "}\n"
    file = tmp_path_factory.mktemp("combining") / "p.hip"
    file.write_text(text)
    toolchain = find_toolchain(Config())
    command = SourceCommand(file, file.parent, toolchain.hip_flags, (file.parent,))
    return Program(units_for(toolchain.clang).meaning(SourceTexts(), command, ()), text)


@pytest.mark.parametrize(("kernel", "exact"), [*zip(COMBINE, (True, False, False, True, False), strict=True)])
def test_sums_products_and_extremes_of_any_caller_combine(
    program: Program, kernel: str, *, exact: bool
) -> None:
    assert program.known(kernel) == {"op(x[0], x[1])": exact}


@pytest.mark.parametrize("kernel", DEPEND)
def test_what_depends_on_the_order_does_not(program: Program, kernel: str) -> None:
    assert program.known(kernel) == {}


def test_functions_of_the_program_are_looked_into(program: Program) -> None:
    assert program.known("plain") == {"bits(x[0], x[1])": True, "bits(x[1], 2)": True}
