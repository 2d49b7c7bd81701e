"""Structures and aliases as the sources define them: what their members are, and where that would be a guess."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.structures import definitions_in, holds_numbers, lineage, member_type

TYPES = b"""
using real = double;
#define fp float  // of all numbers
template <typename T> struct Grid { T* data; int nx, ny; };
struct Extent { int nx; unsigned ny; };
struct Box : Extent { real size[3]; float4 colour; dim3 cells; static float* cache; int at(int i) const { return i; } };
struct View : Extent { Grid<real> grid; };
typedef struct { fp x, y; } Point;
struct Twice { Point from, to; };
"""


@pytest.mark.parametrize(
    "name", ["int", "const real", "float4", "Extent", "Box", "Point", "Twice", "const Twice"]
)
def test_a_structure_of_numbers_holds_numbers(name: str) -> None:
    assert holds_numbers(definitions_in([TYPES]), name)


@pytest.mark.parametrize("name", ["int*", "Extent&", "Grid<int>", "View", "Unknown", "void (*)(int)"])
def test_a_pointer_or_an_unknown_type_holds_more(name: str) -> None:
    assert not holds_numbers(definitions_in([TYPES]), name)


@pytest.mark.parametrize(
    "definition",
    [
        "struct S { union { int a; float b; }; };",
        "struct S { Unknown a; };",
        "struct S { int (*a)(int); };",
        "struct S {\n#ifdef WIDE\n  long a;\n#else\n  int* a;\n#endif\n};",
        "namespace a { struct S { int x; }; }\nnamespace b { struct S { long* x; }; }",
        "template <typename T> struct S { T a; };",
        "struct S { S2 a; };\nstruct S2 { S a; };",
        "struct S;",
        "#ifndef fp\n#define fp float\n#endif\nstruct S { fp a; };",
        "#ifdef WIDE\n#define fp double\n#else\n#define fp float\n#endif\nstruct S { fp a; };",
        "#define fp 1\nstruct S { fp a; };",
        "typedef struct { int a; } *S;",
    ],
)
def test_what_would_be_a_guess_holds_no_numbers(definition: str) -> None:
    assert not holds_numbers(definitions_in([definition.encode()]), "S")


def test_members_of_bases_and_of_template_instances_have_their_types() -> None:
    definitions = definitions_in([TYPES])

    assert member_type(definitions, "View", "nx") == "int"
    assert member_type(definitions, "View", "grid.data") == "real*"
    assert member_type(definitions, "Box", "size") == "real[]"
    assert member_type(definitions, "Box", "none") is None
    assert len(lineage(definitions, "View")) == 2
