"""Layouts of structures against the compiler's own: each offset and size that we give is a static_assert."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.source.number_types import element_bytes
from hipscope.analysis.source.struct_layout import Layout, definitions_in, layout_of
from hipscope.analysis.toolchain.discovery import find_toolchain

TYPES = """
using real = double;
typedef unsigned int count_t;
template <typename T> struct Grid {
  T* data;
  int nx, ny;
  __host__ __device__ T& at(int i, int j) const { return data[j * nx + i]; }
};
struct Particle {
  float4 position;
  real mass;
  count_t id;
  char kind;
  __host__ __device__ Particle() : mass(0) {}
  static int how_many;
  int neighbours[3] = {1, 2, 3};
  int *first, last;
  dim3 cell;
};
class Nested {
 public:
  using value_type = float;
  bool on;
  Grid<float> grid;
  short s;
  int2 extent;
  uint3 three;
  const long* const indices[2];
  long long big = -1;
  float matrix[2][3];
};
struct Empty {};
template <typename T> struct Extent { T nx; int ny; };
struct Padded { float* data; int ny; };
struct Tagged : Empty { float* data; char kind; };
struct Whole : public Extent<int> { float* data; };
struct Behind : Padded { int ld; char c; };
template <typename T> struct Last : Behind { T* more; };
struct Made : Tagged { Made() {} short s; };
#define fp float  // of all numbers
typedef struct { fp x, y; double weight; } Point;
typedef struct point_tag { fp at; Point point; } Place;
struct Places { Place first; Point* more; };
struct alignas(16) Atom { float x, y, z, q; };
struct __align__(16) Half { float x, y, z; };
typedef struct __attribute__((aligned(8))) { float x, y; char c; } Pair;
struct Late { float x; } __attribute__((aligned(4)));
struct Cell : Half { char first; Pair pairs[2]; Late late; Atom atom; };
"""


def layouts(text: str, name: str) -> Layout | None:
    return layout_of(definitions_in([text.encode()]), name)


NUMBERS = (
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "longlong",
    "ulonglong",
    "float",
    "double",
)
VECTORS = [f"{number}{count}" for number in NUMBERS for count in (1, 2, 3, 4)]
SHORT = ["uchar", "ushort", "uint", "ulong", "__half", "__half2", "hipFloatComplex", "hipDoubleComplex"]


def test_sizes_of_elements_are_the_compilers(tmp_path: Path) -> None:
    facts = [f"sizeof({name}) == {element_bytes(name)}" for name in VECTORS + SHORT]
    known = {name: layouts("", name) for name in VECTORS + SHORT}
    facts += [
        f"alignof({name}) == {layout.alignment}" for name, layout in known.items() if layout is not None
    ]
    assert [name for name, layout in known.items() if layout is None] == [
        f"{number}4" for number in ("long", "ulong", "longlong", "ulonglong", "double")
    ]
    check_with_the_compiler("#include <hip/hip_fp16.h>\n#include <hip/hip_complex.h>\n", facts, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "Grid<double>",
        "Grid<char>",
        "const Particle",
        "Nested",
        "Empty",
        "Tagged",
        "Whole",
        "Behind",
        "Point",
        "Place",
        "Places",
        "Atom",
        "Half",
        "Pair",
        "Cell",
    ],
)
def test_a_layout_is_the_compilers(name: str, tmp_path: Path) -> None:
    layout = layouts(TYPES, name)
    assert layout is not None
    bare = name.removeprefix("const ")
    facts = [f"sizeof({bare}) == {layout.size}", f"alignof({bare}) == {layout.alignment}"]
    facts += [f"__builtin_offsetof({bare}, {m.path}) == {m.offset}" for m in layout.members]
    check_with_the_compiler(TYPES, facts, tmp_path)


def check_with_the_compiler(text: str, facts: list[str], folder: Path) -> None:
    lines = [f"static_assert({fact});" for fact in facts]
    source = folder / "layout.hip"
    source.write_text("#include <hip/hip_runtime.h>\n" + text + "\n".join(lines) + "\n")
    toolchain = find_toolchain(Config())
    done = subprocess.run(
        [str(toolchain.clang), "-x", "hip", *toolchain.hip_flags, "--cuda-host-only", "-fsyntax-only",
         "-Wno-invalid-offsetof", str(source)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "definition",
    [
        "struct S : Base { int a; };",
        "struct B { int* p; char c; B() {} };\nstruct S : B { char a; };",
        "struct B { int* p; char c = 0; };\nstruct S : B { char a; };",
        "class B { int* p; char c; };\nstruct S : B { char a; };",
        "struct A { int x; };\nstruct B : A { char c; };\nstruct S : B { char a; };",
        "struct A { int x; };\nstruct B { int y; };\nstruct S : A, B { char a; };",
        "struct B { int x; };\nstruct S : virtual B { char a; };",
        "struct B { float* data; };\nstruct S : B { float* data; };",
        "struct E {};\nstruct S : E { E e; int a; };",
        "struct S { virtual void f(); int a; };",
        "struct S { int a : 3; };",
        "struct alignas(sizeof(int4)) S { int a; };",
        "struct __attribute__((packed)) S { char c; int a; };",
        "typedef struct { char c; int a; } S __attribute__((packed));",
        "typedef float S __attribute__((ext_vector_type(4)));",
        "struct S { alignas(8) int a; };",
        "struct S { union { int a; float b; }; };",
        "struct S { Unknown a; };",
        "struct S { int& a; };",
        "struct S { int a[N]; };",
        "struct S { int (*a)(int); };",
        "#pragma pack(1)\nstruct S { char c; int a; };",
        "struct S {\n#ifdef WIDE\n  long a;\n#else\n  int a;\n#endif\n};",
        "namespace a { struct S { int x; }; }\nnamespace b { struct S { long x; }; }",
        "template <typename T> struct S { T a; };",
        "struct S { S2 a; };\nstruct S2 { S a; };",
        "struct S { int a",
        "struct S;",
        "#ifndef fp\n#define fp float\n#endif\nstruct S { fp a; };",
        "#if !defined(fp)\n#define fp float\n#endif\nstruct S { fp a; };",
        "#ifdef WIDE\n#define fp double\n#else\n#define fp float\n#endif\nstruct S { fp a; };",
        "#define fp 1\nstruct S { fp a; };",
        "typedef struct { int a; } *S;",
    ],
)
def test_what_would_be_a_guess_has_no_layout(definition: str) -> None:
    assert layouts(definition, "S") is None


def test_a_promise_is_that_of_the_pointer_itself() -> None:
    text = """
using loose = float* __restrict__*;
struct View { const float* __restrict__ in; float* __restrict out; int n; };
struct Both { View view; float* __restrict__* table; loose other; double* last; };
"""
    found = layouts(text, "Both")
    assert found is not None
    assert {m.path for m in found.members if m.restrict} == {"view.in", "view.out"}
