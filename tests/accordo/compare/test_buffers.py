"""Comparing memory: element types from signatures, tolerances by type, and what a difference is reported as."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.accordo.compare.buffers import Piece, compare_buffer, wrong_elements
from hipscope.accordo.compare.tolerance import (
    EXACT,
    Tolerance,
    UserTolerance,
    root_mean_square,
    tolerance_for,
)
from hipscope.accordo.dispatch.access_map import READ, WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment, argument_types, pointees, segments
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.model.verdict import Mismatch
from hipscope.accordo.trials.fresh_inputs import NOT_FINITE, TRIALS, write_fresh_inputs
from hipscope.analysis.source.number_types import BYTES, element_of
from hipscope.emulator.captures import seal

FP32 = element_of("float")


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("k(float const*, float*, int)", {0: "float const", 1: "float"}),
        ("void tr<1, float>(double*, Vec<float, 4u> const*, unsigned long)", {0: "double", 1: "Vec<float, 4u> const"}),
        ("(anonymous namespace)::k(unsigned char*) [clone .kd]", {0: "unsigned char"}),
        ("k()", {}),
        ("void k<f(int*)>(int* const)", {0: "int"}),
        ("extern_c_kernel", {}),
    ],
)  # fmt: skip
def test_pointer_arguments_are_read_from_the_demangled_name(demangled: str, expected: dict[int, str]) -> None:
    assert {i: t.strip() for i, t in pointees(demangled).items()} == expected


def test_the_source_helps_where_the_name_tells_nothing() -> None:
    assert argument_types("extern_c_kernel") is None
    found = pointees("extern_c_kernel", ("const float* __restrict__", "int", "__half*const", "double[]"))
    assert {i: element_of(t).name for i, t in found.items()} == {0: "fp32", 2: "fp16", 3: "fp64"}


@pytest.mark.parametrize(
    ("type_name", "element"),
    [
        ("float const", "fp32"), ("double", "fp64"), ("__half", "fp16"), ("__hip_bfloat16", "bf16"),
        ("unsigned int", "uint32"), ("signed char", "int8"), ("bool", "bool"), ("float4", "fp32"),
        ("HIP_vector_type<unsigned char, 4u>", "uint8"), ("Particle", "bytes"), ("void", "bytes"),
    ],
)  # fmt: skip
def test_element_types(type_name: str, element: str) -> None:
    assert element_of(type_name).name == element


def buffer(size: int, *arguments: tuple[int, int], folder: Path = Path()) -> CapturedBuffer:
    return CapturedBuffer(0, 0, size, arguments, folder / "buffer_0.before", folder / "buffer_0.after")


def test_a_buffer_is_cut_where_pointers_point_into_it() -> None:
    pieces = segments(buffer(103, (0, 16), (1, 64)), {0: "float", 1: "double"})
    assert [(s.start, s.end, s.element.name, s.argument) for s in pieces] == [
        (0, 16, "bytes", None),
        (16, 64, "fp32", 0),
        (64, 96, "fp64", 1),
        (96, 103, "bytes", 1),
    ]


def test_a_buffer_that_no_argument_points_to_is_compared_as_bytes() -> None:
    assert [(s.start, s.end, s.element) for s in segments(buffer(8), {0: "float"})] == [(0, 8, BYTES)]


def test_arguments_that_disagree_about_the_type_are_compared_as_bytes() -> None:
    assert segments(buffer(8, (0, 0), (1, 0)), {0: "float", 1: "int"})[0].element is BYTES


def test_tolerances_follow_type_size_and_number_of_terms() -> None:
    values = lambda: 1e-9  # noqa: E731
    assert tolerance_for(element_of("int"), values) == EXACT
    assert tolerance_for(FP32, values).relative == 1e-5
    assert tolerance_for(FP32, values).absolute < 1e-14  # scaled to the output: zeros do not pass for 1e-9
    assert tolerance_for(FP32, values, terms=10**6).relative == pytest.approx(4 * 1000 * 2.0**-23)
    assert tolerance_for(FP32, values, spread=2.0).absolute == 16.0
    assert tolerance_for(element_of("double"), values, user=UserTolerance(1e-3)).relative == 1e-3
    assert root_mean_square(np.array([math.nan, math.inf])) == 0.0
    assert root_mean_square(np.array([3e200, math.nan, -4e200])) == pytest.approx(math.sqrt(12.5) * 1e200)


def compared(
    expected: list[float],
    got: list[float],
    *,
    before: list[float] | None = None,
    written: list[bool] | None = None,
    tolerance: Tolerance = EXACT,
    kind: str = "<f4",
    finite_only: bool = False,
    infinite_for_nan: bool = False,
) -> tuple[Mismatch, ...]:
    element = element_of({"<f4": "float", "<f8": "double", "<f2": "__half"}[kind])
    images = [np.array(v, dtype=kind).tobytes() for v in (before or [0.0] * len(expected), expected, got)]
    mask = np.repeat(np.array(written or [True] * len(expected)), element.size)
    segment = Segment(0, len(images[0]), element, 0)
    piece = Piece(segment, tolerance, "`out`", finite_only=finite_only, infinite_for_nan=infinite_for_nan)
    found, _ = compare_buffer(
        (piece,), before=images[0], expected=images[1], got=images[2], written=mask, is_input=False, buffer=0
    )
    return found


def test_the_first_difference_and_the_largest_are_reported() -> None:
    (found,) = compared([1, 2, 3, 4], [1, 2.5, 3, 8])
    assert (found.first_index, found.byte_offset, found.expected, found.got) == (1, 4, "2", "2.5")
    assert (found.count, found.total, found.max_absolute, found.max_relative) == (2, 4, 4.0, 1.0)
    assert found.max_ulp == 1 << 23


def test_nan_and_infinity_must_stand_in_the_same_places() -> None:
    loose = Tolerance(1.0, 1e30)
    assert compared([math.nan, 1, math.inf], [math.nan, 1, math.inf], tolerance=loose) == ()
    assert compared([math.nan, 1], [1, 1], tolerance=loose) != ()
    assert compared([1, 1], [math.nan, 1], tolerance=loose) != ()
    assert compared([math.inf, 1], [-math.inf, 1], tolerance=loose) != ()
    assert compared([1e38, 1], [math.inf, 1], tolerance=loose) != ()


@pytest.mark.parametrize("tolerance", [EXACT, Tolerance(1.0, 1e30)])
def test_what_is_not_finite_is_one_value_where_the_compiler_may_assume_that_there_is_none(
    tolerance: Tolerance,
) -> None:
    """henry (HeCBench, `-ffast-math`): overflowing inputs make inf of one machine code and -inf of another."""
    for was, now in ((math.inf, -math.inf), (math.nan, math.inf)):
        assert compared([was, 1], [now, 1], tolerance=tolerance) != ()
        assert compared([was, 1], [now, 1], tolerance=tolerance, finite_only=True) == ()
    assert compared([math.inf, 1], [1e38, 1], tolerance=tolerance, finite_only=True) != ()
    assert compared([1e38, 1], [math.nan, 1], tolerance=tolerance, finite_only=True) != ()


def test_only_an_infinity_stands_for_a_nan() -> None:
    loose = Tolerance(1.0, 1e30)
    for now in (math.nan, math.inf, -math.inf):
        assert compared([math.nan, 1], [now, 1], tolerance=loose, infinite_for_nan=True) == ()
    assert compared([math.nan, 1], [0.0, 1], tolerance=loose, infinite_for_nan=True) != ()
    assert compared([math.inf, 1], [math.nan, 1], tolerance=loose, infinite_for_nan=True) != ()
    assert compared([math.inf, 1], [-math.inf, 1], tolerance=loose, infinite_for_nan=True) != ()


def test_exact_means_bit_for_bit() -> None:
    assert compared([0.0], [-0.0]) != ()
    assert compared([0.0], [-0.0], tolerance=Tolerance(0.0, 1e-30)) == ()


def test_what_the_reference_left_alone_must_be_as_before() -> None:
    (found,) = compared([5, 6], [5, 7], before=[1, 6], written=[True, False], tolerance=Tolerance(1, 1))
    assert found.kind == "stray_write"
    assert "writes where the reference does not" in found.message


def test_a_buffer_of_another_size_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="instead of"):
        compared([1, 2], [1])


@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_a_buffer_equals_itself(values: list[float]) -> None:
    assert compared(values, values) == ()


@given(st.lists(st.floats(-1e3, 1e3, width=16), min_size=1, max_size=40), st.data())
def test_one_changed_bit_is_always_found(values: list[float], data: st.DataObject) -> None:
    image = bytearray(np.array(values, dtype="<f2").tobytes())
    at = data.draw(st.integers(0, len(image) * 8 - 1))
    changed = bytearray(image)
    changed[at // 8] ^= 1 << at % 8
    piece = Piece(Segment(0, len(image), element_of("__half"), 0), EXACT, "out")
    found, _ = compare_buffer(
        (piece,),
        before=bytes(len(image)),
        expected=bytes(image),
        got=bytes(changed),
        written=np.ones(len(image), dtype=bool),
        is_input=False,
        buffer=0,
    )
    assert found[0].first_index == at // 16


def test_fresh_inputs_permute_and_rescale_only_what_is_read_and_never_written(tmp_path: Path) -> None:
    values = np.arange(1, 33, dtype="<f4")
    (tmp_path / "buffer_0.before").write_bytes(values.tobytes())
    seal(tmp_path)
    one = buffer(128, (0, 0), folder=tmp_path)
    pieces = {0: segments(one, {0: "float"})}

    def fresh(access: int, trial: int) -> np.ndarray | None:
        folder = tmp_path / f"{access}_{trial}"
        count = write_fresh_inputs(
            (one,), pieces, {0: AccessMap.of(np.full(128, access, dtype=np.uint8))}, folder, trial
        )
        return np.frombuffer((folder / "buffer_0.before").read_bytes(), dtype="<f4") if count else None

    permuted, scaled = fresh(READ, 1), fresh(READ, 2)
    assert permuted is not None
    assert scaled is not None
    assert sorted(permuted) == sorted(values)
    assert list(permuted) != list(values)
    assert (scaled[1::2] < 0).all()
    assert (scaled[::2] > 0).all()
    assert fresh(READ | WRITTEN, 1) is None
    assert fresh(0, 1) is None
    np.testing.assert_array_equal(fresh(READ, 1), permuted)


def test_of_a_launch_that_reads_little_only_what_lies_around_is_replaced(tmp_path: Path) -> None:
    values = np.arange(1 << 19, dtype="<i4")
    (tmp_path / "buffer_0.before").write_bytes(values.tobytes())
    seal(tmp_path)
    one = buffer(values.nbytes, (0, 0), folder=tmp_path)
    read = np.full(8192, READ, dtype=np.uint8)
    touched = AccessMap(values.nbytes, ((0, read), (1 << 20, read)))
    assert write_fresh_inputs((one,), {0: segments(one, {0: "int"})}, {0: touched}, tmp_path / "fresh", 1)
    kept = replacement(tmp_path / "fresh", 0)
    assert kept is not None
    assert kept.stat().st_size < values.nbytes // 16
    fresh = np.frombuffer(replaced_contents(kept, one.before), dtype="<i4")
    assert sorted(fresh) == sorted(values)
    pages = (fresh != values).reshape(-1, 1024).any(axis=1)
    assert pages[:3].all()
    assert pages[255:259].all()
    assert not pages[3:255].any()
    assert pages[259 : 259 + 15].all()
    assert not pages[259 + 15 :].any()


@pytest.mark.parametrize("kind", ["float", "double", "__half", "__bf16", "int"])
@pytest.mark.parametrize("trial", range(1, 9))
def test_fresh_inputs_of_every_trial_and_type_are_whole_and_other_ones(
    tmp_path: Path, kind: str, trial: int
) -> None:
    element = element_of(kind)
    data = np.random.default_rng(1).integers(1, 64, 256).astype(f"<u{element.size}").tobytes()
    (tmp_path / "buffer_0.before").write_bytes(data)
    seal(tmp_path)
    one = buffer(len(data), (0, 0), folder=tmp_path)
    touched = {0: AccessMap.of(np.full(len(data), READ, dtype=np.uint8))}
    count = write_fresh_inputs((one,), {0: segments(one, {0: kind})}, touched, tmp_path / "fresh", trial)
    only = {"special_inputs": "float", "not_finite_inputs": "float", "large_integers": "integer"}
    assert count == (only.get(TRIALS[trial], element.kind) == element.kind)
    if count:
        fresh = (tmp_path / "fresh" / "buffer_0.before").read_bytes()
        assert len(fresh) == len(data)
        assert fresh != data
        numbers = element.numbers(fresh)
        assert np.isfinite(numbers).all() == (TRIALS[trial] != "not_finite_inputs")
        if trial == NOT_FINITE:
            first, second, third = np.flatnonzero(~np.isfinite(numbers))[:3]
            assert second == first + 1
            assert np.isposinf(numbers[[first, second]]).all()  # before a NaN, behind which all sums are NaN
            assert np.isnan(numbers[third])


@pytest.mark.parametrize(
    ("moved", "relative", "by_truth"),
    [
        (0.0, 0.0, False),
        (
            5e-7,
            5e-6,
            False,
        ),  # 1e9 times the element itself, half of what the tolerance allows beside the size
        (1e-3, 0.0, True),  # as far from double precision as the reference is
    ],
)
def test_a_difference_beside_nothing_is_told_in_the_tolerances_measure(
    moved: float, relative: float, *, by_truth: bool
) -> None:
    """Sums whose terms cancel differ by many times themselves; the size of the output says how much that is."""
    right = np.ones(100, dtype=np.float32)
    right[7] = 5e-16
    new = right.copy()
    new[7] += np.float32(moved)
    truth = right.astype(np.float64)
    truth[7] = moved / 2
    piece = Piece(Segment(0, 400, FP32, 0), Tolerance(1e-5, 1e-6), "out")
    if by_truth:
        piece = replace(piece, oracle=truth, rounding=np.full(100, 1e-3))
    wrong, errors = wrong_elements(
        piece, right.view(np.uint8), new.view(np.uint8), np.ones(400, dtype=bool), 0
    )
    assert not wrong.any()
    assert errors.relative == pytest.approx(relative, rel=1e-3)
    assert errors.by_truth is by_truth
    assert errors.absolute == pytest.approx(moved)
