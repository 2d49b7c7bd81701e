"""The device functions that a kernel calls: which may be rewritten for it, and what is known of their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.profile import Frame, Instruction, Kernel, Resources
from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.formulas.facts.called_functions import CalledFunction, called_functions, hottest
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts

HEADER = """
__device__ inline float shared_sum(const float* in, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += in[i];
  return s;
}
"""
TEXT = """
#include "sum.h"
struct Grid { float* data; int nx; };
#define BOTH __host__ __device__
__host__ __device__ inline float both(float x) { return x * 2; }
__host__ __device__ inline float named(float x) { return x * 2; }
__host__ __device__ inline float within(float x) { return x * 3; }
__host__ __device__ inline float around_it(float x) { return within(x); }
template <int N> __host__ __device__ float alone(float x) { return x + N; }
float on_host(float x) { return named(x); }
__host__ __device__ inline float pointed_to(float x) { return x * 5; }
float (*pointer)(float) = pointed_to;
BOTH inline float hidden(float x) { return x * 2; }
constexpr int twice(int x) { return 2 * x; }
template <typename T> __device__ T weight(const T* w, int k, int n, long wide) {
  T s = 0;
  for (int i = 0; i < n; ++i) s += w[i] * k * wide;
  return s;
}
__device__ float moved(const float* in, int x, int y) { x += y; return in[x]; }
__device__ float inner(const float* w, int taps) { return w[taps - 1]; }
__device__ float outer(const float* w, int taps, int other) { return inner(w, taps) + inner(w, taps) + other; }
__device__ float of(Grid g, const int& n) { return g.data[g.nx + n]; }
__device__ float ahead(float* at, const float* in) { return at[1] = in[0]; }
struct Scaled { float by; __device__ float times(const float* w, int i) const { return w[i] * by; } };
__device__ float uncalled(float x) { return x; }
__global__ void kern(float* out, const float* in, const float* w, int n, int m, Grid grid) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  m += 1;
  out[x] = weight(w, 3, n, n) + moved(in + x, n, m) + outer(w, n, m) + of(grid, n) + shared_sum(in, n);
  out[x] += both(1) + hidden(1) + twice(x) + named(1) + around_it(1) + alone<1>(1) + alone<2>(1) + pointed_to(1);
  if (n > 100) out[x] += outer(w, n, 010) + ahead(out, out + 1) + Scaled{2}.times(w, n);
}
__global__ void second(float* out, const float* in, int n) { out[0] = shared_sum(in, 7) + shared_sum(in, n); }
"""
KERNEL, SECOND = "_Z4kernPfPKfS1_ii4Grid", "_Z6secondPfPKfi"
FACTS = LaunchFacts(
    launches=(
        LaunchFact(
            (256, 1, 1),
            (64, 1, 1),
            scalars={"n": 5, "m": 9, "grid.nx": 4},
            buffer_bytes={"in": 400, "w": 20, "out": 1024, "grid.data": 64},
        ),
    ),
    member_pointers={"grid.data": "float"},
    member_numbers={"grid.nx": "int"},
    disjoint=frozenset({"in", "w", "out"}),
)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Meaning, Path]:
    folder = tmp_path_factory.mktemp("called")
    (folder / "sum.h").write_text(HEADER)
    file = folder / "p.hip"
    file.write_text("#include <hip/hip_runtime.h>\n" + TEXT)
    units: Units = units_for(find_toolchain(Config()).clang)
    command = SourceCommand(file, folder, find_toolchain(Config()).hip_flags, (folder,))
    return units.meaning(SourceTexts(), command, (KERNEL, SECOND)), folder


def of(read: tuple[Meaning, Path], *symbols: str) -> dict[str, CalledFunction]:
    found = called_functions(read[0], symbols, FACTS, SourceTexts(), read[1])
    return {f.syntax.name: f for f in found}


def test_functions_are_found_wherever_they_stand(read: tuple[Meaning, Path]) -> None:
    found = of(read, KERNEL)
    fixed = {name for name, function in found.items() if function.host}
    assert set(found) - fixed >= {"weight", "moved", "inner", "outer", "of", "shared_sum"}
    assert found.keys().isdisjoint(("hidden", "twice", "uncalled"))
    assert found["shared_sum"].file == read[1] / "sum.h"
    assert found["weight"].syntax.template_head == "<typename T>"
    assert not found["weight"].syntax.is_kernel


def test_what_the_host_may_run_stays(read: tuple[Meaning, Path]) -> None:
    fixed = {name: function.host for name, function in of(read, KERNEL).items()}
    assert fixed["named"] == "the host may run it, too, through `on_host`"
    assert fixed["both"] == fixed["around_it"] == fixed["within"] == fixed["alone"] == ""
    text = (
        (read[1] / "p.hip")
        .read_text()
        .replace("on_host(float x) { return named", "on_host(float x) { return around_it")
    )
    (read[1] / "q.hip").write_text(text)
    command = SourceCommand(read[1] / "q.hip", read[1], find_toolchain(Config()).hip_flags, (read[1],))
    meaning = units_for(find_toolchain(Config()).clang).meaning(SourceTexts(), command, (KERNEL, SECOND))
    fixed = {name: function.host for name, function in of((meaning, read[1]), KERNEL).items()}
    assert fixed["named"] == ""
    assert fixed["around_it"] == "the host may run it, too, through `on_host`"
    assert fixed["pointed_to"] == "the host may run it, too"
    assert fixed["within"] == "the host may run it, too, through `around_it`"


def test_a_parameter_is_known_where_every_call_passes_the_same_unchanged(read: tuple[Meaning, Path]) -> None:
    found = of(read, KERNEL)
    (launch,) = found["weight"].facts.launches
    assert launch.scalars == {"k": 3, "n": 5}  # `wide` is another type than the kernel's `n`
    assert launch.buffer_bytes == {"w": 20}
    assert launch.workgroup == (64, 1, 1)
    (launch,) = found["moved"].facts.launches
    # A place in an argument, a parameter that moves, and an argument that has moved.
    assert (launch.scalars, launch.buffer_bytes) == ({}, {})
    (launch,) = found["outer"].facts.launches
    assert (launch.scalars, launch.buffer_bytes) == ({"taps": 5}, {"w": 20})
    assert found["inner"].facts.launches[0].scalars == {"taps": 5}  # through another function


def test_pointers_overlap_no_other_where_this_kernel_alone_passes_them_as_they_are(
    read: tuple[Meaning, Path],
) -> None:
    disjoint = {name: function.facts.disjoint for name, function in of(read, KERNEL).items()}
    assert disjoint["weight"] == disjoint["times"] == {"w"}
    # Another kernel calls it, a place in an argument is passed, and one that is passed twice.
    assert disjoint["shared_sum"] == disjoint["moved"] == disjoint["ahead"] == frozenset()


def test_members_are_known_by_the_functions_name_for_the_structure(read: tuple[Meaning, Path]) -> None:
    facts = of(read, KERNEL)["of"].facts
    assert facts.launches[0].scalars == {"g.nx": 4}  # a reference may change
    assert facts.launches[0].buffer_bytes == {"g.data": 64}
    assert facts.member_pointers == {"g.data": "float"}
    assert facts.member_numbers == {"g.nx": "int"}


def test_two_calls_with_different_arguments_leave_a_parameter_unknown(read: tuple[Meaning, Path]) -> None:
    launch = of(read, SECOND)["shared_sum"].facts.launches[0]
    assert launch.scalars == {}
    assert launch.buffer_bytes == {"in": 400}


def test_the_types_in_a_function_are_the_compilers(read: tuple[Meaning, Path]) -> None:
    function = of(read, KERNEL)["weight"]
    start = function.source.index(b"w[i]")
    assert function.facts.types.spans[start, start + 4] == "float"


def test_a_kernel_that_the_compiler_does_not_know_has_none(read: tuple[Meaning, Path]) -> None:
    assert of(read, KERNEL, "_Z5otherv") == {}


def test_functions_with_a_tenth_of_the_cycles_are_hot(read: tuple[Meaning, Path]) -> None:
    functions = of(read, KERNEL)
    weight, inner = functions["weight"], functions["inner"]

    def at(function: CalledFunction, cycles: float) -> Instruction:
        frame = Frame(file=str(function.file), line=function.syntax.span.line)
        return Instruction(index=0, address=0, text="v_add_f32", source=(frame,), latency=cycles)

    cost = (at(weight, 95.0), at(inner, 5.0))
    kernel = Kernel(name="kern", mangled=KERNEL, dispatches=(), resources=Resources(), instructions=cost)
    (hot,) = hottest([inner, weight], [kernel])
    assert (hot.syntax.name, hot.share) == ("weight", 0.95)
    assert hottest([inner], []) == ()


def test_of_many_functions_around_each_other_the_one_with_the_work_is_taken(
    read: tuple[Meaning, Path],
) -> None:
    functions = of(read, KERNEL)
    inner = functions.pop("inner")
    others = list(functions.values())
    chain = [inner, *others]
    assert len(chain) > 7
    frames = tuple(Frame(file=str(f.file), line=f.syntax.span.line) for f in chain)
    cost = Instruction(index=0, address=0, text="v_add_f32", source=frames, latency=100.0)
    kernel = Kernel(name="kern", mangled=KERNEL, dispatches=(), resources=Resources(), instructions=(cost,))
    taken = [function.syntax.name for function in hottest([*others, inner], [kernel])]
    assert "inner" in taken
    assert len(taken) == 6
