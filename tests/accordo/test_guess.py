"""What is made of buffers whose type nobody has declared."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hipscope.accordo.guess import guess

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
