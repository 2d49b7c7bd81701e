"""The types guessed for buffers without a declared type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.guessed_types import guess, with_guesses
from hipscope.analysis.source.number_types import BYTES

FIRST, LAST = 0x7E0000000000, 0x7E0000100000
RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        (np.arange(100, dtype="<f4") * 0.01, "fp32"),
        (RANDOM.normal(size=1000).astype("<f4"), "fp32"),
        (np.array([0, 0, 1.5, 0], dtype="<f4"), "fp32"),
        (RANDOM.normal(size=1000), "fp64"),
        (np.array([1.0, 0.5, 2.0, 0.0]), "fp64"),
        (np.arange(-50, 50, dtype="<i4"), "int32"),
        (np.arange(50, dtype="<i8"), "int64"),
        (np.zeros(64, dtype="<f4"), "bytes"),
        (RANDOM.integers(0, 256, 4096, dtype=np.uint8), "bytes"),
        (np.array([1, 2, FIRST + 64, 4], dtype="<u8"), "bytes"),
        (np.array([7], dtype=np.uint8), "bytes"),
    ],
)
def test_contents_are_told_by_their_looks(numbers: NDArray[np.generic], name: str) -> None:
    assert guess(numbers.tobytes(), FIRST, LAST).name == name


def guessed(
    before: bytes, after: bytes, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, int, int | None]]:
    """Element type, start and stride of what is made of a buffer without a declared type."""
    buffer = CapturedBuffer(0, 0x1000, len(before), (), Path(), Path())
    monkeypatch.setattr(CapturedBuffer, "before", lambda _: before)
    monkeypatch.setattr(CapturedBuffer, "after", lambda _: after)
    found = with_guesses((buffer,), {0: (Segment(0, len(before), BYTES, None),)})[0]
    return [(s.element.name, s.start, s.stride) for s in found]


def test_an_array_of_structures_is_cut_into_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = np.dtype(
        [("x", "<f4"), ("kind", "<i4"), ("mass", "<f8"), ("next", "<u8"), ("pad", "<i4"), ("v", "<f4")]
    )
    records = np.zeros(50, dtype=kind)
    records["x"], records["v"] = RANDOM.normal(size=(2, 50))
    records["mass"], records["kind"] = RANDOM.normal(size=50), np.arange(50)
    records["next"] = 0x1000 + 32 * np.arange(50)
    assert guessed(records.tobytes(), b"", monkeypatch) == [
        ("fp32", 0, 32), ("int32", 4, 32), ("fp64", 8, 32), ("int32", 24, 32), ("fp32", 28, 32),
    ]  # fmt: skip


def test_zeros_are_what_the_kernel_makes_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = RANDOM.normal(size=64).astype("<f4").tobytes()
    assert guessed(bytes(256), sums, monkeypatch) == [("fp32", 0, None)]
    assert guessed(bytes(256), bytes(256), monkeypatch)[0][0] == "int32"


def test_noise_is_no_array_of_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = RANDOM.integers(0, 256, 4096, dtype=np.uint8).tobytes()
    assert guessed(noise, b"", monkeypatch) == [("bytes", 0, None)]
