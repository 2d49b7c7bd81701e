"""The compiler's types in a kernel's source, and the recipes that a name for a type no longer stops."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.semantics.meaning import Units
from hipscope.analysis.semantics.records import SourceCommand
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import units_for
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts, SourceTypes, pointers_of
from hipscope.formulas.facts.source_types import source_types, template_numbers
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.rules.arithmetic import fast_math, reciprocal
from hipscope.formulas.propose.rules.atomics import block_reduce
from hipscope.formulas.propose.rules.lds import pad_lds

Compile = Callable[..., CodeObject]

TOTAL = """
using data_t = double;
typedef data_t sum_t;
__global__ void total(const data_t* input, sum_t* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) unsafeAtomicAdd(result, input[i]);
}
"""
SCALED = """
#define REAL float
using real = REAL;
struct Grid { real* data; real scale; };
__global__ void scaled(Grid g, int n) {
    int i = threadIdx.x;
    auto factor = g.scale;
    for (int k = 0; k < n; ++k) g.data[i + k] = g.data[i + k] / factor;
}
"""
TEMPLATED = """
using data_t = double;
template <typename T> __global__ void mixed(T* p, data_t* q) { p[0] = p[1] / p[2]; atomicAdd(q, q[1]); }
void run(float* f, double* d) { mixed<float><<<1, 1>>>(f, d); mixed<double><<<1, 1>>>(d, d); }
"""


@pytest.fixture(scope="module")
def units() -> Units:
    return units_for(find_toolchain(Config()).clang)


def types_of(units: Units, folder: Path, text: str, *symbols: str) -> tuple[bytes, SourceTypes]:
    file = folder / "p.hip"
    data = b"#include <hip/hip_runtime.h>\n" + text.encode()
    file.write_bytes(data)
    command = SourceCommand(file, folder, find_toolchain(Config()).hip_flags, (folder,))
    meaning = units.meaning(SourceTexts(), command, symbols)
    return data, source_types(meaning, symbols, file, data)


def proposed(recipe: object, source: bytes, name: str, types: SourceTypes) -> Proposal:
    kernel = parse(source).kernel(name)
    assert kernel is not None
    launch = LaunchFact((256, 1, 1), (64, 1, 1))
    facts = LaunchFacts(launches=(launch,), types=types, threads=64)
    answer: Proposal = recipe.propose(source, kernel, None, facts)  # type: ignore[attr-defined]
    return answer


@pytest.mark.parametrize("name", ["typedef data_t sum_t;", "#define sum_t double"])
def test_atomics_on_a_type_by_another_name_are_gathered(units: Units, tmp_path: Path, name: str) -> None:
    text = TOTAL.replace("typedef data_t sum_t;", name)
    source, types = types_of(units, tmp_path, text, "_Z5totalPKdPdi")
    refused = proposed(block_reduce, source, "total", SourceTypes())
    answer = proposed(block_reduce, source, "total", types)

    assert isinstance(refused, Refusal)
    assert "`sum_t`, which cannot be shuffled" in refused.reason
    assert isinstance(answer, list)
    assert b"double block_sum = 0.0;" in answer[0].text
    assert types.sizes["data_t"] == 8


@pytest.mark.parametrize("recipe", [reciprocal, fast_math])
def test_divisions_of_floats_by_other_names_are_seen(units: Units, tmp_path: Path, recipe: object) -> None:
    source, types = types_of(units, tmp_path, SCALED, "_Z6scaled4Gridi")
    refused = proposed(recipe, source, "scaled", SourceTypes())
    answer = proposed(recipe, source, "scaled", types)

    assert isinstance(refused, Refusal)
    assert isinstance(answer, list)
    assert isinstance(answer[0], Candidate)
    assert b"/ factor;\n}" not in answer[0].text


def test_names_that_are_known_stay_as_they_are_written(units: Units, tmp_path: Path) -> None:
    text = "using cell = float;\n__global__ void k(float4* a, uint32_t* b, cell** c, const cell* d) { *b = 0; }\n"
    source, types = types_of(units, tmp_path, text, "_Z1kP15HIP_vector_typeIfLj4EEPjPPfPKf")
    kernel = parse(source).kernel("k")
    assert kernel is not None

    assert pointers_of(kernel, LaunchFacts(types=types)) == {
        "a": "float4", "b": "uint32_t", "c": "cell", "d": "float",
    }  # fmt: skip


def test_another_text_of_the_file_has_no_types(units: Units, tmp_path: Path) -> None:
    source, types = types_of(units, tmp_path, SCALED, "_Z6scaled4Gridi")

    assert isinstance(proposed(reciprocal, source + b"\n", "scaled", types), Refusal)


def test_what_a_template_decides_is_left_to_it(units: Units, tmp_path: Path) -> None:
    source, types = types_of(units, tmp_path, TEMPLATED, "_Z5mixedIfEvPT_Pd")
    kernel = parse(source).kernel("mixed")
    assert kernel is not None

    assert pointers_of(kernel, LaunchFacts(types=types)) == {"p": "T", "q": "double"}
    assert isinstance(proposed(reciprocal, source, "mixed", types), Refusal)


def test_atomics_in_a_template_are_gathered_where_every_instance_can_be(units: Units, tmp_path: Path) -> None:
    text = """
    template <typename T> __global__ void total(const T* in, T* sum) { atomicAdd(sum, in[threadIdx.x]); }
    void run(float* f, double* d) { total<float><<<1, 64>>>(f, f); total<double><<<1, 64>>>(d, d); }
    """
    source, types = types_of(units, tmp_path, text, "_Z5totalIfEvPKT_PS0_")
    answer = proposed(block_reduce, source, "total", types)
    short = "__device__ short atomicAdd(short* sum, short more);" + text.replace("double", "short")
    source, others = types_of(units, tmp_path, short, "_Z5totalIfEvPKT_PS0_")

    assert types.instances["sum"] == {"float", "double"}
    assert isinstance(answer, list)
    assert b"T block_sum = " in answer[0].text
    assert not answer[0].exact
    assert others.instances["sum"] == {"float", "short"}
    assert isinstance(proposed(block_reduce, source, "total", others), Refusal)


@pytest.mark.parametrize("others", ["unsigned", "unsigned long long"])
def test_what_changes_nothing_is_right_for_each_integer_of_a_template(
    units: Units, tmp_path: Path, compile_text: Compile, others: str
) -> None:
    text = f"""
    template <typename T> __global__ void most(const T* in, T* best) {{
        atomicMax(&best[0], in[threadIdx.x]);
        atomicMin(&best[1], in[threadIdx.x]);
        atomicAnd(&best[2], in[threadIdx.x]);
    }}
    void run(int* i, {others}* u) {{ most<int><<<1, 64>>>(i, i); most<{others}><<<1, 64>>>(u, u); }}
    """
    source, types = types_of(units, tmp_path, text, "_Z4mostIiEvPKT_PS0_")
    answer = proposed(block_reduce, source, "most", types)

    assert isinstance(answer, list)
    assert answer[0].exact
    compile_text(answer[0].text)
    whole = b"""
    template <typename T> constexpr bool right(T least, T most) {
        return MAX == least && MIN == most && static_cast<T>(AND) == T(-1);
    }
    static_assert(right<int>(-2147483647 - 1, 2147483647) && right<unsigned>(0, ~0u));
    static_assert(right<unsigned long long>(0, ~0ull));
    """
    neutral = dict(re.findall(rb"T (block_value(?:_\d)?) = (.*);", answer[0].text))
    for name, value in zip((b"MAX", b"MIN", b"AND"), neutral.values(), strict=True):
        whole = whole.replace(name, b"T(" + value + b")")
    compile_text(whole)


def test_a_kernel_in_a_header_that_the_build_finds_in_its_copy(units: Units, tmp_path: Path) -> None:
    folder, copy = tmp_path / "program", tmp_path / "copy"
    header = b"template <typename T> __global__ void total(T* sum) { atomicAdd(sum, T(1)); }\n"
    for tree in (folder, copy):
        (tree / "include").mkdir(parents=True)
        (tree / "include" / "total.h").write_bytes(header)
    main = folder / "p.hip"
    main.write_text(
        '#include <hip/hip_runtime.h>\n#include "total.h"\nvoid run(int* i) { total<<<1, 64>>>(i); }\n'
    )
    flags = (*find_toolchain(Config()).hip_flags, "-Iinclude")
    command = SourceCommand(main, copy, flags, (folder, copy), copy=(copy, folder))
    file, symbols = folder / "include" / "total.h", ("_Z5totalIiEvPT_",)
    saved = units.meaning(SourceTexts(), command, symbols)
    unsaved = units.meaning(SourceTexts({file: b"\n" + header}), command, symbols)

    assert source_types(saved, symbols, file, header).instances == {"sum": {"int"}, "T": {"int"}}
    (function,) = unsaved.named("total")
    assert function.place.file == file
    assert function.place.span[0] == saved.named("total")[0].place.span[0] + 1
    assert file in saved.includes


def test_a_kernel_with_an_error_in_what_it_uses_has_no_types(units: Units, tmp_path: Path) -> None:
    text = TOTAL.replace("using data_t = double;", "using data_t = doubel;")
    _, types = types_of(units, tmp_path, text, "_Z5totalPKiPii")

    assert types == SourceTypes()


def test_a_kernel_that_the_compiler_does_not_find_has_no_types(units: Units, tmp_path: Path) -> None:
    _, types = types_of(units, tmp_path, TOTAL, "_Z5otherPf")

    assert types == SourceTypes()


def test_the_size_of_a_shared_arrays_elements(units: Units, tmp_path: Path) -> None:
    text = """
    using cell = float;
    __global__ void tiled(cell* p) {
        __shared__ cell tile[32][32];
        tile[threadIdx.y][threadIdx.x] = p[threadIdx.x];
        __syncthreads();
        p[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    }
    """
    source, types = types_of(units, tmp_path, text, "_Z5tiledPf")

    assert isinstance(proposed(pad_lds, source, "tiled", SourceTypes()), Refusal)
    assert not isinstance(proposed(pad_lds, source, "tiled", types), Refusal)


HELD = """
struct Plain { int n[8]; float4 v; double d; enum { one } e; };
struct Inner { Plain p[2]; };
struct Pointing { int n; Plain p; float* data; };
struct Derived : Pointing { int more; };
struct Virtual { virtual int of() const; int n; };
union Either { long n; float* p; };
extern "C" __global__ void k(float* p, Plain plain, Inner inner, Pointing pointing, Derived derived, Virtual object,
                             Either either, float4 vector, long number, void (*function)(), Plain* pointer) {}
"""


def test_a_parameter_without_a_pointer_in_it_holds_numbers(units: Units, tmp_path: Path) -> None:
    _, types = types_of(units, tmp_path, HELD, "k")

    assert types.numbers == {"plain", "inner", "vector", "number"}


BOXES = """
struct Cell { float dx; };
struct Box {
  Cell cell;
  float dy;
  __device__ int at(int i) const { return i + 1; }
  __device__ void grow() { dy *= 2; }
};
__global__ void inside(const float* in, float* out, Box box, Box other, Box moved, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += in[box.at(i)] / box.cell.dx + in[i] / (2.0f * box.dy);
  for (int i = 0; i < n; i++) sum += in[i] / other.dy, other.grow();
  for (int i = 0; i < n; i++) sum += in[i] / moved.dy;
  moved.dy = sum;
  out[0] = sum;
}
"""


def test_members_of_what_is_passed_by_value_and_never_changes_stay_the_same(
    units: Units, tmp_path: Path
) -> None:
    source, types = types_of(units, tmp_path, BOXES, "_Z6insidePKfPf3BoxS2_S2_i")
    assert types.steady == {"in", "out", "box", "n"}

    answer = proposed(reciprocal, source, "inside", types)
    assert isinstance(answer, list)
    assert b"const float inverse = 1.0f / box.cell.dx;" in answer[0].text
    assert b"= 1.0f / (2.0f * box.dy);" in answer[0].text
    for kept in (b"in[i] / other.dy", b"in[i] / moved.dy"):
        assert kept in answer[0].text
    hidden = BOXES.replace(
        "float sum = 0;", "float sum = 0; Box made = other; { Box box = made; sum += box.dy; }"
    )
    source, types = types_of(units, tmp_path, hidden, "_Z6insidePKfPf3BoxS2_S2_i")
    refused = proposed(reciprocal, source, "inside", types)
    assert isinstance(refused, Refusal)
    assert "`box.cell.dx` on line 12 may change" in refused.reason


def test_numbers_of_a_template_are_those_of_all_instances() -> None:
    kernel = parse(
        b"template <int N, typename T, unsigned M> __global__ void k(T* p) { p[M] = N; }\n"
    ).kernels[0]
    assert template_numbers(kernel, ["_Z1kILi64EfLj3EEvPT0_", "_Z1kILi32EdLj3EEvPT0_"]) == {
        "N": frozenset({32, 64}),
        "M": frozenset({3}),
    }
    assert template_numbers(kernel, []) == {}
