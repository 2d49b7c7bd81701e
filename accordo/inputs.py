"""Fresh inputs for a captured dispatch: what a kernel reads gets other values that it might as well have had.

Takes the captured buffers and the reference's access maps, gives replacement buffers. Elements are permuted, so that
indices and labels stay in range; floats are also scaled, and replaced by zeros, large ones, NaN and infinity; integers
become large, with both signs (a reference that takes them for indices does not survive that, and the trial is dropped).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer
from hipscope.accordo.dtypes import Element, Segment
from hipscope.accordo.replay import ATOMIC, READ, WRITTEN

PERMUTED, SCALED, SPARSE, NOT_FINITE, LARGE_INTEGERS = 1, 2, 3, 4, 5  # the trials, cheapest doubts first

Access = NDArray[np.uint8]

_WORDS = {
    PERMUTED: "inputs permuted",
    SCALED: "inputs permuted, floats scaled with alternating sign",
    SPARSE: "floats zero but for a few large ones",
    NOT_FINITE: "some floats NaN or infinite",
    LARGE_INTEGERS: "integers large and of both signs",
}
_FEW = 16
_LARGE_INTEGER = 1 << 20  # beyond any LDS, so that an index is seen to be one
_LARGE = {"fp64": 2.0**256, "fp32": 2.0**32, "bf16": 2.0**32, "fp16": 16.0}  # a few squares do not overflow


def describe(trial: int) -> str:
    """What trial number `trial` (from 1) does to the inputs, in words."""
    return _WORDS[trial]


def write_fresh_inputs(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, Access],
    directory: Path,
    trial: int,
) -> int:
    """Write `buffer_<i>.before` for each buffer that is an input; returns how many. Seeded by `trial`."""
    directory.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng([0x5EED, trial])
    count = 0
    for buffer in buffers:
        touched = access[buffer.index]
        data = bytearray(buffer.before())
        changed = False
        for segment in pieces[buffer.index]:
            window = touched[segment.start : segment.end]
            if not _replaceable(segment, window, trial):
                continue
            fresh = _fresh(
                bytes(data[segment.start : segment.end]), segment.element, trial, window, generator
            )
            changed = changed or fresh != data[segment.start : segment.end]
            data[segment.start : segment.end] = fresh
        if changed:
            (directory / f"buffer_{buffer.index}.before").write_bytes(data)
            count += 1
    return count


def _replaceable(segment: Segment, window: Access, trial: int) -> bool:
    """Inputs are; what the kernel updates in place is, by plain loads and stores of floats, in the sparse trial."""
    if segment.element.kind == "bytes" or not (window & READ).any():
        return False
    if trial in (SPARSE, NOT_FINITE) and segment.element.kind != "float":
        return False
    if trial == LARGE_INTEGERS and (segment.element.kind != "integer" or segment.element.size < 4):
        return False
    updated = bool((window & WRITTEN).any())
    return not updated or (trial == SPARSE and not (window & ATOMIC).any())


def _fresh(
    data: bytes, element: Element, trial: int, window: Access, generator: np.random.Generator
) -> bytes:
    raw = np.frombuffer(data, dtype=f"<u{element.size}")
    shuffled = raw[generator.permutation(len(raw))]
    if trial == LARGE_INTEGERS:
        up = generator.integers(0, 2, len(raw)).astype(bool)
        large = np.asarray(_LARGE_INTEGER, dtype=raw.dtype)
        mixed = np.where(up, shuffled + large, ~(shuffled + large)).astype(raw.dtype)
        return bytes(mixed.tobytes())
    if element.kind != "float" or trial == PERMUTED:
        return shuffled.tobytes()
    if trial == SPARSE:
        return _encoded(_sparse(len(raw), element, window, generator), element)
    numbers = element.numbers(shuffled.tobytes())
    if trial == NOT_FINITE:
        at = generator.integers(0, len(raw), max(3, len(raw) // 64))
        numbers[at] = generator.choice([np.nan, np.inf, -np.inf], len(at))
        return _encoded(numbers, element)
    scale = generator.uniform(0.5, 2.0, len(raw)) * np.where(np.arange(len(raw)) % 2, -1.0, 1.0)
    return _encoded(numbers * scale, element)


def _sparse(
    count: int, element: Element, window: Access, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Zeros of both signs, and a few large values: among them the first and the last element that is read."""
    numbers = np.where(generator.integers(0, 2, count) == 1, -0.0, 0.0)
    used = np.flatnonzero((window & READ).reshape(-1, element.size).any(axis=1))
    at = np.concatenate([used[[0, -1]], generator.choice(used, _FEW)])
    sizes = generator.uniform(0.5, 1.0, len(at)) * _LARGE[element.name]
    numbers[at] = np.where(generator.integers(0, 2, len(at)) == 1, -sizes, sizes)
    return numbers


def _encoded(numbers: NDArray[np.float64], element: Element) -> bytes:
    if element.name == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    kind = {"fp64": "<f8", "fp32": "<f4", "fp16": "<f2"}[element.name]
    with np.errstate(invalid="ignore", over="ignore"):
        return numbers.astype(kind).tobytes()
