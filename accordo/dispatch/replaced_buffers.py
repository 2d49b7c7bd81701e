"""Buffers of a dispatch with other contents: a directory with a file for each, whole or only the pages that differ.

`buffer_<i>.before` holds all of a buffer, `buffer_<i>.runs` what is written over the captured contents. A launch of
few workgroups reads little of a large buffer, and most trials are such launches.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import PAGE, read_runs

Parts = Sequence[tuple[int, NDArray[np.uint8]]]
"""Bytes of a buffer, and where they begin."""

_RUNS = ".runs"
_WORTH_PARTS = 1 << 20  # bytes


def replacement(inputs: Path | None, buffer: int) -> Path | None:
    """The file that replaces what a buffer held; None when nothing does."""
    if inputs is None:
        return None
    paths = (inputs / f"buffer_{buffer}.before", inputs / f"buffer_{buffer}{_RUNS}")
    return next((p for p in paths if p.exists()), None)


def replaced_contents(path: Path, captured: Callable[[], bytes]) -> bytes:
    """What a buffer holds with that file in place of, or written over, what was captured. Raises ValueError."""
    data = path.read_bytes()
    if path.suffix != _RUNS:
        return data
    image = bytearray(captured())
    for at, part in read_runs(data):
        if at + len(part) > len(image):
            raise ValueError("runs reach beyond the buffer")
        image[at : at + len(part)] = part
    return bytes(image)


def write_replacement(
    inputs: Path, buffer: int, captured: NDArray[np.uint8], parts: Parts | NDArray[np.uint8]
) -> None:
    """Write down what a buffer holds instead of what was captured: all of it, or parts that do not overlap."""
    listed = [(0, parts)] if isinstance(parts, np.ndarray) else sorted(parts, key=itemgetter(0))
    if len(captured) >= _WORTH_PARTS:
        if any(at % PAGE or (len(part) % PAGE and at + len(part) < len(captured)) for at, part in listed):
            listed = [(0, _written_over(captured, listed))]  # what is kept in parts are whole pages
        runs = [
            (at + start, part[start:end])
            for at, part in listed
            for start, end in _differing(part, captured[at : at + len(part)])
        ]
        if sum(len(part) for _, part in runs) <= len(captured) // 2:
            with (inputs / f"buffer_{buffer}{_RUNS}").open("wb") as file:
                for at, part in runs:
                    file.write(struct.pack("<QQ", at, len(part)))
                    file.write(np.ascontiguousarray(part).data)
            return
    (inputs / f"buffer_{buffer}.before").write_bytes(_written_over(captured, listed).data)


def _written_over(captured: NDArray[np.uint8], parts: Parts) -> NDArray[np.uint8]:
    data = captured.copy()
    for at, part in parts:
        data[at : at + len(part)] = part
    return data


def _differing(data: NDArray[np.uint8], captured: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """The stretches of pages that differ."""
    starts = np.arange(0, len(data), PAGE)
    differ = np.logical_or.reduceat(data != captured, starts)
    edges = np.flatnonzero(np.diff(differ, prepend=False, append=False))
    return [(int(begin) * PAGE, min(len(data), int(end) * PAGE)) for begin, end in edges.reshape(-1, 2)]
