"""What structures hold, and where, by each libclang; what has no place or no name of its own has no layout."""

from __future__ import annotations

import pytest

from hipscope.analysis.semantics.layouts import Member, members_of
from tests.analysis.semantics.conftest import Reader

TYPES = """
using real = double;
typedef unsigned int count_t;
template <typename T> struct Grid { T* data; int nx, ny; };
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
struct Empty {};
template <typename T> struct Extent { T nx; int ny; };
struct Padded { float* data; int ny; };
struct Tagged : Empty { const float* __restrict__ data; char kind; };
struct Whole : public Extent<int> { float* data; };
struct Behind : Padded { int ld; char c; };
template <typename T> struct Last : Behind { T* more; };
struct __attribute__((packed)) Packed { char c; int a; };
struct alignas(16) Atom { float x, y, z, q; };
typedef struct { Atom at; float3 v; } Place;
"""


def layout(read: Reader, types: str, name: str) -> tuple[Member, ...] | None:
    meaning = read(f"{types}\n__global__ void k({name}* p) {{ (void)sizeof(*p); }}\n")
    assert meaning.errors == ()
    (kernel,) = meaning.named("k")
    kind = kernel.parameters[0].type.element
    assert kind is not None
    return members_of(kind)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Grid<real>", "data 0 double*, nx 8 int, ny 12 int"),
        (
            "const Particle",
            (
                "position.x 0 float, position.y 4 float, position.z 8 float, position.w 12 float, mass 16 double, "
                "id 24 unsigned int, kind 28 char, first 48 int*, last 56 int, cell.x 60 unsigned int, "
                "cell.y 64 unsigned int, cell.z 68 unsigned int"
            ),
        ),
        ("Empty", ""),
        ("Tagged", "data 0 float*, kind 8 char"),
        ("Whole", "nx 0 int, ny 4 int, data 8 float*"),
        ("Last<float>", "data 0 float*, ny 8 int, ld 16 int, c 20 char, more 24 float*"),
        ("Packed", "c 0 char, a 1 int"),
        (
            "Place",
            "at.x 0 float, at.y 4 float, at.z 8 float, at.q 12 float, v.x 16 float, v.y 20 float, v.z 24 float",
        ),
    ],
)
def test_a_layout_is_the_compilers(read: Reader, name: str, expected: str) -> None:
    found = layout(read, TYPES, name)

    assert found is not None
    assert ", ".join(f"{m.path} {m.offset} {m.type}" for m in found) == expected


@pytest.mark.parametrize(
    "definition",
    [
        "struct A { int x; }; struct B { int y; }; struct S : A, B { char a; };",
        "struct B { int x; }; struct S : virtual B { char a; };",
        "struct B { float* data; }; struct S : B { float* data; };",
        "struct S { virtual void f(); int a; };",
        "struct S { virtual ~S(); int a; };",
        "template <typename T> struct V { virtual void f(); T a; }; using S = V<int>;",
        "struct S { int a : 3; };",
        "struct S { union { int a; float* b; }; };",
        "struct S { int c; struct { int a; float* b; }; };",
        "union S { int a; float* b; };",
        "struct S { int& a; };",
        "struct S { int (*a)(int); };",
        "struct S { int* a; S* next; union { int u; } w[2]; };",
    ],
)
def test_what_has_no_place_or_no_name_has_no_layout(read: Reader, definition: str) -> None:
    assert layout(read, definition, "S") is None


def test_a_promise_is_that_of_the_pointer_itself(read: Reader) -> None:
    text = """
using loose = float* __restrict__*;
struct View { const float* __restrict__ in; float* __restrict out; int n; };
struct Both { View view; float* __restrict__* table; loose other; double* last; };
"""
    found = layout(read, text, "Both")
    assert found is not None
    assert {m.path for m in found if m.restrict} == {"view.in", "view.out"}
