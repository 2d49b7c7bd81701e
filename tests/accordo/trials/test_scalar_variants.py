"""Which other numbers a launch is tried with: plain parameters, vectors, and the words of structures."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import Argument, CapturedBuffer, CapturedDispatch
from hipscope.accordo.trials.code_constants import Named
from hipscope.accordo.trials.scalar_arguments import numbers_of, with_changes
from hipscope.accordo.trials.scalar_variants import named_arguments, other_arguments
from hipscope.emulator.captures import seal

BUFFER = 0x7E0000001000
LESS = struct.unpack("f", struct.pack("f", 3 * 0.7310585))[0]


def launch(folder: Path, kernarg: bytes, *sizes: int) -> CapturedDispatch:
    """A captured launch with arguments of these sizes one after another, and one buffer of 256 bytes."""
    (folder / "kernarg.bin").write_bytes(kernarg)
    seal(folder)
    offsets = [sum(sizes[:i]) for i in range(len(sizes))]
    nowhere = folder / "none"
    return CapturedDispatch(
        id=1, directory=folder, kernel="k", code_object=nowhere, grid=(256, 1, 1), workgroup=(64, 1, 1), dynamic_lds=0,
        arguments=tuple(Argument(o, s, "by_value") for o, s in zip(offsets, sizes, strict=True)),
        buffers=(CapturedBuffer(0, BUFFER, 256, (), nowhere, nowhere),), variables=(), complete=True, reason=None,
    )  # fmt: skip


def test_numbers_are_found_in_plain_arguments_vectors_and_structures(tmp_path: Path) -> None:
    structure = struct.pack("<Qiifffd", BUFFER + 16, 1000, -1, 0.25, 0.0, 1e30, 0.1)
    kernarg = struct.pack("<i4xd4f", 7, 2.5, 1, 2, 3, 4) + structure
    dispatch = launch(tmp_path, kernarg, 8, 8, 16, len(structure))
    found = numbers_of(dispatch, ["long", "double", "float4", "Params"])
    assert [(n.label, n.kind, n.value) for n in found] == [
        ("argument 1", "integer", 7),
        ("argument 2", "float", 2.5),
        *((f"argument 3, element {k}", "float", k + 1) for k in range(4)),
        ("argument 4, byte 8", "integer", 1000),
        ("argument 4, byte 12", "integer", -1),
        ("argument 4, byte 16", "float", 0.25),
        ("argument 4, byte 20", "integer", 0),  # a float zero looks like any other
        ("argument 4, byte 32", "float", pytest.approx(1.45, rel=0.01)),  # the upper half of 0.1
    ]
    smaller = with_changes(kernarg, found[-1:], lambda x: 0.75 * x)
    assert 0 < struct.unpack_from("<d", smaller, 32 + 28)[0] < 0.1


def test_sizes_flags_and_floats_of_a_structure_are_changed_and_its_pointers_are_not(tmp_path: Path) -> None:
    structure = struct.Struct("<Qiif4x")
    dispatch = launch(tmp_path, structure.pack(BUFFER, 1000, 1, 3.0), structure.size)
    tried = {o.label: structure.unpack(o.kernarg) for o in other_arguments(dispatch, ["Params"])}
    assert tried["integer arguments one less"] == (BUFFER, 999, 1, 3.0)
    assert tried["integer arguments one more, longer buffers"] == (BUFFER, 1001, 1, 3.0)
    assert tried["integer arguments of one workgroup"] == (BUFFER, 64, 1, 3.0)
    assert tried["argument 1, byte 12 0 instead of 1, other floats"] == (BUFFER, 1000, 0, LESS)
    assert tried["other float and bool arguments"] == (BUFFER, 1000, 1, LESS)


def test_what_would_be_tried_twice_or_not_at_all_is_left_out(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<i", 2), 4)
    assert [o.label for o in other_arguments(dispatch, ["int"])] == [
        "integer arguments one less",
        "integer arguments 0",
        "integer arguments one more, longer buffers",
        "argument 1 3 instead of 2, other floats",
        "argument 1 4 instead of 2, other floats",
        "argument 1 33 instead of 2, other floats",
    ]
    assert other_arguments(launch(tmp_path, struct.pack("<Q", BUFFER), 8), ["Params"]) == []


def test_of_any_two_sizes_one_is_made_smaller_without_the_other(tmp_path: Path) -> None:
    for count in (6, 13):
        sizes = [100 + i for i in range(count)]
        folder = tmp_path / str(count)
        folder.mkdir()
        dispatch = launch(folder, struct.pack(f"<{count}i", *sizes), *[4] * count)
        tried = [struct.unpack(f"<{count}i", o.kernarg) for o in other_arguments(dispatch, ["int"] * count)]
        less = [{i for i in range(count) if t[i] == sizes[i] - 1} for t in tried]
        for one in range(count):
            for other in set(range(count)) - {one}:
                assert any(one in chosen and other not in chosen for chosen in less), (one, other)


def test_small_integers_take_each_small_value_and_an_enumeration_is_one(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<i3xBf", 2, 1, 0.1), 4, 4, 4)
    dispatch = replace(
        dispatch, arguments=(dispatch.arguments[0], Argument(7, 1, "by_value"), Argument(8, 4, "by_value"))
    )
    tried = other_arguments(dispatch, ["int", "Mode", "float"])
    found = {o.label: struct.unpack("<i3xBf", o.kernarg) for o in tried}
    assert {v[0] for label, v in found.items() if label.startswith("argument 1")} == {0, 1, 3, 4, 33}
    assert {v[1] for label, v in found.items() if label.startswith("argument 2")} == {0, 2, 3, 4, 33}
    assert found["larger float arguments"][2] > 1
    assert found["float arguments of the other sign"][2] < 0


def test_a_mark_below_zero_is_another_one_and_0(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<ii", 200, -100), 4, 4)
    found = {struct.unpack("<ii", o.kernarg) for o in other_arguments(dispatch, ["int", "int"])}
    assert {(200, -99), (200, 0)} <= found


def test_strides_of_one_are_doubled_where_sizes_are_halved(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<3i", 301, 1, 1), 4, 4, 4)
    tried = {o.label: struct.unpack("<3i", o.kernarg) for o in other_arguments(dispatch, ["int"] * 3)}
    assert tried["integer arguments halved, those of 1 doubled"] == (150, 2, 2)


def test_all_bits_of_a_wide_integer_are_tried_and_so_is_zero(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<Qq", 12345, 300), 8, 8)
    tried = {
        o.label: struct.unpack("<Qq", o.kernarg) for o in other_arguments(dispatch, ["unsigned long", "long"])
    }
    assert tried["argument 1 beyond 32 bits"] == (12345 + (5 << 32), 300)
    assert tried["argument 2 beyond 32 bits"] == (12345, 300 + (5 << 32))
    assert tried["argument 1 0"] == (0, 300)
    different = tried["argument 1 of other bits throughout"][0] ^ 12345
    assert different == 0x5555_5555_5555_5555


def test_floats_are_tried_as_zero_and_one_each_alone(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<ff", 2.0, 0.25), 4, 4)
    tried = [struct.unpack("<ff", o.kernarg) for o in other_arguments(dispatch, ["float", "float"])]
    assert {(0.0, 0.25), (1.0, 0.25), (2.0, 0.0), (2.0, 1.0)} <= set(tried)


def test_arguments_become_the_numbers_that_a_program_names(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<if", 300, 2.0), 4, 4)
    named = Named(frozenset({3.5}), frozenset({77777, 7, 4}))
    tried = [struct.unpack("<if", o.kernarg) for o in named_arguments(dispatch, ["int", "float"], named)]
    assert tried == [(77777, 2.0), (7, 2.0), (77778, 2.0), (8, 2.0), (3, 2.0), (4, 2.0), (300, 3.5)]


def test_large_integers_take_the_other_sign_and_all_floats_are_zero_together(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<iIff", 990, 16, 2.0, 0.5), 4, 4, 4, 4)
    tried = other_arguments(dispatch, ["int", "unsigned int", "float", "float"])
    found = [struct.unpack("<iIff", o.kernarg) for o in tried]
    assert (-990, 16, 2.0, 0.5) in found
    assert (990, 16, 0.0, 0.0) in found
    assert {o.defence for o in tried if struct.unpack("<iIff", o.kernarg)[2] == 0} == {"zero_scalars"}


def test_each_of_few_sizes_is_0_alone(tmp_path: Path) -> None:
    dispatch = launch(tmp_path, struct.pack("<ii", 500, 400), 4, 4)
    found = {struct.unpack("<ii", o.kernarg) for o in other_arguments(dispatch, ["int", "int"])}
    assert {(0, 400), (500, 0), (0, 0)} <= found
