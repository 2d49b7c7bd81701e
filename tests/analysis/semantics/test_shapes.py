"""What the compiler says of kernels of many shapes: one program, read by each libclang, against a table of answers."""

from __future__ import annotations

import pytest

from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import FunctionInstance, Place, Type
from hipscope.analysis.source.texts import SourceTexts
from tests.analysis.semantics.conftest import PROGRAMS, command_for

SHAPES = PROGRAMS / "shapes.hip"


@pytest.fixture(scope="module")
def meaning(units: Units) -> Meaning:
    return units.meaning(SourceTexts(), command_for(SHAPES, f"-isystem{PROGRAMS / 'lib'}"))


# Functions with the arguments of their templates, and expressions of each with their types.
TABLE: list[tuple[str, tuple[str | int, ...], dict[str, str]]] = [
    ("alias_kernel", (), {"input[i]": "const double"}),
    ("auto_kernel", (), {"in[threadIdx.x]": "const float", "target[threadIdx.x]": "float"}),
    ("default_kernel", ("float", 4, 0), {"data[i]": "float"}),
    ("default_kernel", ("double", 8, 1), {"data[i]": "double", "data[N]": "double"}),
    ("traits_kernel", ("HalfTraits",), {"q[j]": "float", "p[j]": "const float"}),
    ("macro_kernel", (), {}),
    ("space_kernel", (), {"tile[threadIdx.y][threadIdx.x]": "float", "tile": "float[32][33]", "p[0]": "int"}),
    ("operator_kernel", (), {"m(threadIdx.x, 2)": "float", "out[1]": "float", "m.p[5]": "float"}),
    ("operator()", (), {"d[i]": "double"}),
    ("operator[]", (), {"p[i]": "float"}),
    ("table_kernel", (), {"kTable[3]": "const int", "coefficients[threadIdx.x]": "float", "counter": "int"}),
    ("arrays_kernel", (), {"b.x[n]": "float", "b.y[n + 1]": "float", "b.kind[n]": "const int"}),
    ("vector_kernel", (), {
        "a[0].y": "float", "b[1]": "const HIP_vector_type<float, 4>", "a[3].x": "float", "b[4].w": "const float",
    }),
    ("dynamic_kernel", (), {"part[threadIdx.x]": "float", "p[0]": "float"}),
    ("row_sum", (), {"p[threadIdx.x]": "const float"}),
    ("helper_kernel", (), {"out[0]": "float"}),
    ("header_kernel", ("int", 3), {"values[s]": "int"}),
    ("included_kernel", (), {"p[threadIdx.x]": "float"}),
    ("vendored", (), {"p[7]": "const int"}),
]  # fmt: skip


def expressions(function: FunctionInstance) -> dict[str, str]:
    return {
        place.file.read_bytes()[slice(*place.span)].decode(): kind.canonical.replace("4u", "4")
        for place, kind in function.types.items()
    }


def arguments(function: FunctionInstance) -> tuple[str | int, ...]:
    return tuple(a.canonical if isinstance(a, Type) else a for a in function.arguments)


@pytest.mark.parametrize(("name", "given", "expected"), TABLE)
def test_the_expressions_of_a_shape(
    meaning: Meaning, name: str, given: tuple[str | int, ...], expected: dict[str, str]
) -> None:
    found = [expressions(f) for f in meaning.named(name) if arguments(f) == given]

    assert any(expected.items() <= one.items() for one in found), found


def test_there_are_no_errors_and_no_other_functions(meaning: Meaning) -> None:
    assert meaning.errors == ()
    assert {f.name for f in meaning.by_key.values()} - {name for name, _, _ in TABLE} == {
        "main",
        "launch_kernel",
    }


def test_a_shared_array_has_its_dimensions_and_size(meaning: Meaning) -> None:
    (kernel,) = meaning.named("space_kernel")
    tile = next(kind for kind in kernel.types.values() if len(kind.dims) == 2)

    assert (tile.canonical, tile.dims, tile.bytes) == ("float[32][33]", (32, 33), 4224)


def test_members_of_a_structure(meaning: Meaning) -> None:
    (kernel,) = meaning.named("arrays_kernel")
    structure = kernel.parameters[0].type

    assert [(f.name, f.type.canonical, f.offset) for f in structure.fields] == [
        ("x", "float *", 0), ("y", "float *", 8), ("kind", "const int *", 16),
    ]  # fmt: skip
    assert structure.bytes == 24


def test_the_types_of_a_template_stay_open_where_an_instance_decides(meaning: Meaning) -> None:
    first, _ = meaning.named("default_kernel")
    (alias,) = meaning.named("alias_kernel")

    assert [p.type.dependent for p in first.declared] == [True]
    assert [p.type.dependent for p in first.parameters] == [False]
    assert [p.type.dependent for p in alias.declared] == [False, False, False]


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("alias_kernel", {256, 128}), ("auto_kernel", {256}), ("macro_kernel", {64}), ("launch_kernel", {32}),
        ("dynamic_kernel", {64}), ("header_kernel", {64}),
    ],
)  # fmt: skip
def test_launches(meaning: Meaning, name: str, block: set[int]) -> None:
    keys = {f.key for f in meaning.named(name)}

    assert {x.block_value for x in meaning.launches() if x.kernel in keys} == block


def test_a_lambda_is_reached_from_the_kernel_that_calls_it(meaning: Meaning) -> None:
    (kernel,) = meaning.named("launch_kernel")

    assert [f.name for f in meaning.reachable(kernel.key)] == ["launch_kernel", "operator()"]


def test_the_symbol_of_each_kernel(meaning: Meaning) -> None:
    kernels = {f.key for f in meaning.by_key.values() if f.kernel}

    assert {
        "_Z12alias_kernelPKdPdi",
        "_Z14default_kernelIdLi8ELb1EEvPT_",
        "_Z13launch_kernelIZ4mainEUliE_EviT_",
    } <= kernels


def test_the_type_of_an_expression(meaning: Meaning) -> None:
    text = SHAPES.read_bytes()
    at = text.index(b"input[i]")
    (kernel,) = meaning.named("alias_kernel")
    found = kernel.types.get(Place(SHAPES, (at, at + 8)))

    assert found is not None
    assert (found.spelling, found.canonical) == ("const sample_t", "const double")


def test_a_run_reads_a_file_once_and_another_run_reads_it_again(toolchain_units: Units) -> None:
    texts, command = SourceTexts(), command_for(SHAPES, f"-isystem{PROGRAMS / 'lib'}")
    known = toolchain_units.meaning(texts, command)
    assert toolchain_units.meaning(texts.of(lambda: (SHAPES,)), command) is known
    changed = texts.replacing(SHAPES, texts.needed(SHAPES) + b"__global__ void added() {}\n")
    assert [f.name for f in toolchain_units.meaning(changed, command).named("added")] == ["added"]
    assert toolchain_units.meaning(SourceTexts(), command) is not known
