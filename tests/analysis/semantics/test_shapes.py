"""What the compiler says of kernels of many shapes: one program, read by each libclang, against a table of answers."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import ElementAccess, FunctionInstance, Place, Type
from hipscope.analysis.source.texts import SourceTexts
from tests.analysis.semantics.conftest import PROGRAMS, command_for

SHAPES = PROGRAMS / "shapes.hip"


@pytest.fixture(scope="module")
def meaning(units: Units) -> Meaning:
    return units.meaning(SourceTexts(), command_for(SHAPES, f"-isystem{PROGRAMS / 'lib'}"))


@dataclass(frozen=True)
class Answer:
    """The accesses of one function: kind, text, canonical type, where the data may be, what is in the index."""

    function: str
    arguments: tuple[str | int, ...]
    accesses: tuple[str, ...]


TABLE = [
    Answer("alias_kernel", (), ("atomic result: double in result[]", "read input[i]: const double in input[i]")),
    Answer("auto_kernel", (), (
        "read in[threadIdx.x]: const float in in[threadIdx]", "write target[threadIdx.x]: float in out[threadIdx]",
    )),
    Answer("default_kernel", ("float", 4, 0), ("update data[i]: float in data[i]",)),
    Answer("default_kernel", ("double", 8, 1), (
        "update data[i]: double in data[i]", "write data[N]: double in data[]",
    )),
    Answer("traits_kernel", ("HalfTraits",), (
        "write q[j]: float in q[j]", "read p[j]: const float in p[j]",
    )),
    Answer("macro_kernel", (), (
        "read MAKE_KERNEL(macro_kernel, double): double in p[threadIdx]",
        "write MAKE_KERNEL(macro_kernel, double): double in p[threadIdx]",
    )),
    Answer("space_kernel", (), (
        "write tile[threadIdx.y][threadIdx.x]: float in tile[threadIdx]", "write p[0]: int in p[]",
        "read tile[0][1]: float in tile[]",
    )),
    Answer("operator_kernel", (), (
        "write m(threadIdx.x, 2): float in []", "write out[1]: float in out[]", "write out[2]: float in out[]",
        "read m.p[5]: float in []",
    )),
    Answer("operator()", (), ("write d[i]: double in d[i]",)),
    Answer("operator()", (), ()),
    Answer("operator[]", (), ("read p[i]: float in p[i]",)),
    Answer("table_kernel", (), (
        "write p[kTable[3]]: float in p[kTable]", "read kTable[3]: const int in kTable[]",
        "read coefficients[threadIdx.x]: float in coefficients[threadIdx]", "write counter: int in counter[]",
    )),
    Answer("arrays_kernel", (), (
        "update b.x[n]: float in b[n]", "read b.y[n + 1]: float in b[n]", "read b.kind[n]: const int in b[n]",
    )),
    Answer("vector_kernel", (), (
        "write a[0].y: float in a[]", "read b[1]: const HIP_vector_type<float, 4> in b[]",
        "write a[2]: HIP_vector_type<float, 4> in a[]", "update a[3].x: float in a[]",
        "read b[4].w: const float in b[]",
    )),
    Answer("dynamic_kernel", (), ("write part[threadIdx.x]: float in scratch[threadIdx]", "read p[0]: float in p[]")),
    Answer("row_sum", (), ("read p[threadIdx.x]: const float in base[threadIdx]",)),
    Answer("helper_kernel", (), ("write out[0]: float in out[]",)),
    Answer("header_kernel", ("int", 3), ("write values[s]: int in values[s]",)),
    Answer("included_kernel", (), ("update p[threadIdx.x]: float in p[threadIdx]",)),
    Answer("vendored", (), ("read p[7]: const int in p[]",)),
]  # fmt: skip


def spelled(access: ElementAccess) -> str:
    text = access.place.file.read_bytes()[slice(*access.place.span)].decode()
    names = ",".join(d.name for d in access.index)
    kind = access.type.canonical.replace("4u", "4")
    return f"{access.kind} {text}: {kind} in {','.join(sorted(access.roots))}[{names}]"


def arguments(function: FunctionInstance) -> tuple[str | int, ...]:
    return tuple(a.canonical if isinstance(a, Type) else a for a in function.arguments)


@pytest.mark.parametrize("answer", TABLE, ids=lambda a: f"{a.function}{list(a.arguments)}{len(a.accesses)}")
def test_accesses_of_a_shape(meaning: Meaning, answer: Answer) -> None:
    found = [f for f in meaning.named(answer.function) if arguments(f) == answer.arguments]
    given = [tuple(spelled(a) for a in f.accesses) for f in found]

    assert sorted(answer.accesses) in [sorted(g) for g in given], given


def test_there_are_no_errors_and_no_other_functions(meaning: Meaning) -> None:
    assert meaning.errors == ()
    assert {f.name for f in meaning.by_key.values()} - {a.function for a in TABLE} == {
        "main",
        "launch_kernel",
    }


def test_all_ways_to_an_element_are_named(meaning: Meaning) -> None:
    (row_sum,) = meaning.named("row_sum")
    (way,) = row_sum.accesses[0].bases

    assert [(d.name, d.kind) for d in way] == [("p", "local"), ("base", "parameter")]


def test_a_shared_array_has_its_dimensions_and_size(meaning: Meaning) -> None:
    (kernel,) = meaning.named("space_kernel")
    tile = next(a.bases[0][0] for a in kernel.accesses if "tile" in a.roots)

    assert (tile.kind, tile.type.canonical, tile.type.dims, tile.type.bytes) == (
        "shared",
        "float[32][33]",
        (32, 33),
        4224,
    )


def test_kinds_of_memory(meaning: Meaning) -> None:
    kinds = {
        d.name: d.kind
        for f in meaning.by_key.values()
        for a in f.accesses
        for way in a.bases
        for d in way[-1:]
    }

    assert kinds["coefficients"] == "constant"
    assert kinds["counter"] == "global"
    assert kinds["scratch"] == "dynamic shared"
    assert kinds["d"] == "capture"


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
    found = meaning.type_at(Place(SHAPES, (at, at + 8)), kernel.key)

    assert found is not None
    assert (found.spelling, found.canonical) == ("const sample_t", "const double")


def test_a_run_reads_a_file_once_and_another_run_reads_it_again(toolchain_units: Units) -> None:
    texts, command = SourceTexts(), command_for(SHAPES, f"-isystem{PROGRAMS / 'lib'}")
    known = toolchain_units.meaning(texts, command)
    assert toolchain_units.meaning(texts.of(lambda: (SHAPES,)), command) is known
    changed = texts.replacing(SHAPES, texts.needed(SHAPES) + b"__global__ void added() {}\n")
    assert [f.name for f in toolchain_units.meaning(changed, command).named("added")] == ["added"]
    assert toolchain_units.meaning(SourceTexts(), command) is not known
