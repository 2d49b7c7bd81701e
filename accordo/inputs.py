"""Fresh inputs for a captured dispatch: what a kernel reads gets other values that it might as well have had.

Takes the captured buffers and the reference's access maps, gives replacement buffers. Elements are permuted, so that
indices and labels stay in range; floats are also scaled, and replaced by zeros, ones, denormals, ramps, large ones, NaN
and infinity; integers become large, with both signs (a reference that takes them for indices does not survive that, and
the trial is dropped); and in one trial a single element of each input changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer
from hipscope.accordo.defences import Defence
from hipscope.accordo.dtypes import Element, Segment
from hipscope.accordo.replay import ATOMIC, READ, READ_FIRST, WRITTEN

PERMUTED, SCALED, SPARSE, NOT_FINITE, LARGE_INTEGERS, STRUCTURED, SCALED_AGAIN, ONE_CHANGED = range(1, 9)
TRIALS: dict[int, Defence] = {
    PERMUTED: "permuted_inputs", SCALED: "scaled_inputs", SPARSE: "special_inputs", NOT_FINITE: "not_finite_inputs",
    LARGE_INTEGERS: "large_integers", STRUCTURED: "special_inputs", SCALED_AGAIN: "scaled_inputs",
    ONE_CHANGED: "one_changed_input",
}  # fmt: skip

Access = NDArray[np.uint8]

_WORDS = {
    PERMUTED: "inputs permuted",
    SCALED: "inputs permuted, floats scaled with alternating sign",
    SPARSE: "floats zero but for a few large ones",
    NOT_FINITE: "some floats NaN or infinite",
    LARGE_INTEGERS: "integers large and of both signs",
    STRUCTURED: "floats one, -0, denormal and rising",
    SCALED_AGAIN: "inputs permuted otherwise, floats of many sizes",
    ONE_CHANGED: "one element of each input changed",
}
_FEW = 16
_LARGE_INTEGER = 1 << 20  # beyond any LDS, so that an index is seen to be one
_TINY = {"fp64": 2.0**-1070, "fp32": 2.0**-145, "bf16": 2.0**-130, "fp16": 2.0**-20}  # denormal
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
    """Inputs are, and what the kernel reads first and then updates by plain loads and stores."""
    if segment.element.kind == "bytes" or not (window & READ).any():
        return False
    if trial in (SPARSE, NOT_FINITE, STRUCTURED) and segment.element.kind != "float":
        return False
    if trial == LARGE_INTEGERS and (segment.element.kind != "integer" or segment.element.size < 4):
        return False
    if not (window & WRITTEN).any():
        return True
    return (
        trial not in (NOT_FINITE, LARGE_INTEGERS)
        and bool((window & READ_FIRST).any())
        and not (window & ATOMIC).any()
    )


def _fresh(
    data: bytes, element: Element, trial: int, window: Access, generator: np.random.Generator
) -> bytes:
    raw = np.frombuffer(data, dtype=f"<u{element.size}")
    if trial == ONE_CHANGED:
        return _one_changed(raw, element, window, generator)
    shuffled = raw[generator.permutation(len(raw))]
    if trial == LARGE_INTEGERS:
        up = generator.integers(0, 2, len(raw)).astype(bool)
        large = np.asarray(_LARGE_INTEGER, dtype=raw.dtype)
        mixed = np.where(up, shuffled + large, ~(shuffled + large)).astype(raw.dtype)
        return bytes(mixed.tobytes())
    if element.kind != "float" or trial == PERMUTED:
        return shuffled.tobytes()
    if trial == STRUCTURED:
        return _encoded(_structured(len(raw), element, generator), element)
    if trial == SPARSE:
        return _encoded(_sparse(len(raw), element, window, generator), element)
    numbers = element.numbers(shuffled.tobytes())
    if trial == NOT_FINITE:
        used = np.flatnonzero((window & READ).reshape(-1, element.size).any(axis=1))
        at = generator.choice(used, min(len(used), max(3, len(used) // 64)), replace=False)
        numbers[at] = np.resize([np.nan, np.inf, -np.inf], len(at))
        return _encoded(numbers, element)
    if trial == SCALED_AGAIN:
        sizes = generator.uniform(-6.0, 6.0, len(raw))
        return _encoded(numbers * np.exp2(sizes) * generator.choice([-1.0, 1.0], len(raw)), element)
    scale = generator.uniform(0.5, 2.0, len(raw)) * np.where(np.arange(len(raw)) % 2, -1.0, 1.0)
    return _encoded(numbers * scale, element)


def _one_changed(
    raw: NDArray[np.generic], element: Element, window: Access, generator: np.random.Generator
) -> bytes:
    """Another value for one element that is read: floats far from what they were, integers in range (two swapped)."""
    used = np.flatnonzero((window & READ).reshape(-1, element.size).any(axis=1))
    at = int(generator.choice(used))
    changed = raw.copy()
    if element.kind != "float":
        others = np.flatnonzero(raw != raw[at])
        if len(others):
            other = int(generator.choice(others))
            changed[at], changed[other] = raw[other], raw[at]
        return bytes(changed.tobytes())
    numbers = element.numbers(raw.tobytes())
    finite = numbers[np.isfinite(numbers)]
    size = float(np.abs(finite).max()) if finite.size else 1.0
    value = -1.5 * numbers[at] + (size or 1.0) if np.isfinite(numbers[at]) else 1.0
    changed[at] = np.frombuffer(_encoded(np.array([value]), element), dtype=raw.dtype)[0]
    return bytes(changed.tobytes())


def _structured(count: int, element: Element, generator: np.random.Generator) -> NDArray[np.float64]:
    """Runs of ones, of -0, of denormals and of rising values, each some hundred elements long."""
    kinds = generator.permutation(4)[(np.arange(count) // 160) % 4]
    ramp = np.arange(count) / max(1, count - 1)
    return np.choose(kinds, [np.ones(count), np.full(count, -0.0), np.full(count, _TINY[element.name]), ramp])


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
