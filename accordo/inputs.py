"""Fresh inputs for a captured dispatch: what a kernel reads gets other values that it might as well have had.

Takes the captured buffers and the reference's access maps, gives replacement buffers. Elements are permuted, so that
indices and labels stay in range; floats are also scaled, and replaced by zeros, ones, denormals, ramps, large ones, NaN
and infinity; integers become large, with both signs (a reference that takes them for indices does not survive that, and
the trial is dropped); and in one trial a single element of each input changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.access import ATOMIC, PAGE, READ, READ_FIRST, WRITTEN, AccessMap
from hipscope.accordo.capture import CapturedBuffer
from hipscope.accordo.defences import Defence
from hipscope.accordo.dtypes import Element, Segment

PERMUTED, SCALED, SPARSE, NOT_FINITE, LARGE_INTEGERS, STRUCTURED, SCALED_AGAIN, ONE_CHANGED = range(1, 9)
TRIALS: dict[int, Defence] = {
    PERMUTED: "permuted_inputs", SCALED: "scaled_inputs", SPARSE: "special_inputs", NOT_FINITE: "not_finite_inputs",
    LARGE_INTEGERS: "large_integers", STRUCTURED: "special_inputs", SCALED_AGAIN: "scaled_inputs",
    ONE_CHANGED: "one_changed_input",
}  # fmt: skip

Access = NDArray[np.uint8]
Numbers = NDArray[np.floating[Any]]

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
_MARGIN = 16  # pages
_LARGE_INTEGER = 1 << 20  # beyond any LDS, so that an index is seen to be one
_TINY = {"fp64": 2.0**-1070, "fp32": 2.0**-145, "bf16": 2.0**-130, "fp16": 2.0**-20}  # denormal
_LARGE = {"fp64": 2.0**256, "fp32": 2.0**32, "bf16": 2.0**32, "fp16": 16.0}  # a few squares do not overflow


def describe(trial: int) -> str:
    """What trial number `trial` (from 1) does to the inputs, in words."""
    return _WORDS[trial]


def write_fresh_inputs(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
    directory: Path,
    trial: int,
) -> int:
    """Write `buffer_<i>.before` for each buffer that is an input; returns how many. Seeded by `trial`.

    Of a launch that reads a small part of a buffer, only what lies around that part is replaced: the rest is not looked
    at, and would cost most of the time.
    """
    directory.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng([0x5EED, trial])
    count = 0
    for buffer in buffers:
        touched = access[buffer.index]
        chosen = [s for s in pieces[buffer.index] if _replaceable(s, touched, trial)]
        if not chosen:
            continue
        data = np.frombuffer(buffer.before(), dtype=np.uint8).copy()
        changed = False
        for segment in chosen:
            parts = _surroundings(segment, touched)
            old = np.concatenate([data[part] for part in parts])
            window = np.concatenate([touched.window(part.start, part.stop) for part in parts])
            fresh = np.frombuffer(_fresh(old, segment.element, trial, window, generator), dtype=np.uint8)
            changed = changed or not np.array_equal(fresh, old)
            at = 0
            for part in parts:
                data[part] = fresh[at : (at := at + part.stop - part.start)]
        if changed:
            (directory / f"buffer_{buffer.index}.before").write_bytes(data.data)
            count += 1
    return count


def _surroundings(segment: Segment, touched: AccessMap) -> list[slice]:
    """The pages of a segment that are read, one more on both sides of each, and some more at both ends."""
    read = touched.pages(READ, segment.start, segment.end)
    near = read.copy()
    near[1:] |= read[:-1]
    near[:-1] |= read[1:]
    first, last = np.flatnonzero(read)[[0, -1]]
    near[max(0, first - _MARGIN) : first] = True
    near[last : last + 1 + _MARGIN] = True
    edges = np.flatnonzero(np.diff(near, prepend=False, append=False))
    return [
        slice(segment.start + int(begin) * PAGE, min(segment.end, segment.start + int(end) * PAGE))
        for begin, end in edges.reshape(-1, 2)
    ]


def _replaceable(segment: Segment, touched: AccessMap, trial: int) -> bool:
    """Inputs are, and what the kernel reads first and then updates by plain loads and stores."""
    place = (segment.start, segment.end)
    if segment.element.kind == "bytes" or not touched.any(READ, *place):
        return False
    if trial in (SPARSE, NOT_FINITE, STRUCTURED) and segment.element.kind != "float":
        return False
    if trial == LARGE_INTEGERS and (segment.element.kind != "integer" or segment.element.size < 4):
        return False
    if not touched.any(WRITTEN, *place):
        return True
    return trial != LARGE_INTEGERS and touched.any(READ_FIRST, *place) and not touched.any(ATOMIC, *place)


def _fresh(
    data: NDArray[np.uint8], element: Element, trial: int, window: Access, generator: np.random.Generator
) -> bytes:
    raw = data.view(f"<u{element.size}")
    if trial == ONE_CHANGED:
        return _one_changed(raw, element, window, generator)
    if trial == STRUCTURED:
        return encoded(_structured(len(raw), element, generator), element)
    if trial == SPARSE:
        return encoded(_sparse(len(raw), element, window, generator), element)
    shuffled = generator.permuted(raw)
    if trial == LARGE_INTEGERS:
        large = np.asarray(_LARGE_INTEGER, dtype=raw.dtype)
        mixed = np.where(_coins(len(raw), generator), shuffled + large, ~(shuffled + large))
        return bytes(mixed.tobytes())
    if element.kind != "float" or trial == PERMUTED:
        return bytes(shuffled.tobytes())
    numbers = _decoded(shuffled, element)
    if trial == NOT_FINITE:
        used = _used(window, element)
        at = generator.choice(used, min(len(used), max(3, len(used) // 64)), replace=False)
        numbers[at] = np.resize([np.nan, np.inf, -np.inf], len(at))
        return encoded(numbers, element)
    random = generator.random(len(raw), dtype=numbers.dtype.type)
    if trial == SCALED_AGAIN:
        numbers *= np.exp2(12 * random - 6)
        np.negative(numbers, out=numbers, where=_coins(len(raw), generator))
    else:
        numbers *= 0.5 + 1.5 * random
        np.negative(numbers[1::2], out=numbers[1::2])
    return encoded(numbers, element)


def _one_changed(
    raw: NDArray[Any], element: Element, window: Access, generator: np.random.Generator
) -> bytes:
    """Another value for one element that is read: floats far from what they were, integers in range (two swapped)."""
    at = int(generator.choice(_used(window, element)))
    changed = raw.copy()
    if element.kind != "float":
        others = np.flatnonzero(raw != raw[at])
        if len(others):
            other = int(generator.choice(others))
            changed[at], changed[other] = raw[other], raw[at]
        return bytes(changed.tobytes())
    numbers = _decoded(raw, element)
    finite = np.abs(numbers[np.isfinite(numbers)])
    size = float(finite.max()) if finite.size else 1.0
    value = -1.5 * float(numbers[at]) + (size or 1.0) if np.isfinite(numbers[at]) else 1.0
    changed[at] = np.frombuffer(encoded(np.array([value]), element), dtype=raw.dtype)[0]
    return bytes(changed.tobytes())


def _structured(count: int, element: Element, generator: np.random.Generator) -> Numbers:
    """Runs of ones, of -0, of denormals and of rising values, each some hundred elements long."""
    kind = _working(element)
    kinds = np.resize(np.repeat(generator.permutation(4).astype(np.uint8), 160), count)
    numbers = np.array([1.0, -0.0, _TINY[element.name], 0.0], dtype=kind)[kinds]
    rising = np.flatnonzero(kinds == 3)
    numbers[rising] = rising / max(1, count - 1)
    return numbers


def _sparse(count: int, element: Element, window: Access, generator: np.random.Generator) -> Numbers:
    """Zeros of both signs, and a few large values: among them the first and the last element that is read."""
    numbers = np.zeros(count, dtype=_working(element))
    np.negative(numbers, out=numbers, where=_coins(count, generator))
    used = _used(window, element)
    at = np.concatenate([used[[0, -1]], generator.choice(used, _FEW)])
    sizes = generator.uniform(0.5, 1.0, len(at)) * _LARGE[element.name]
    numbers[at] = np.where(_coins(len(at), generator), -sizes, sizes)
    return numbers


def _used(window: Access, element: Element) -> NDArray[np.intp]:
    """The elements of which a byte is read."""
    mask = int.from_bytes(bytes([READ]) * element.size, "little")
    return np.flatnonzero(window.view(f"<u{element.size}") & np.array(mask, dtype=f"<u{element.size}"))


def _coins(count: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    return generator.integers(0, 2, count, dtype=np.bool_)


def _working(element: Element) -> type[np.floating[Any]]:
    """The type to compute in: single precision for itself, it is enough and half the work."""
    return np.float32 if element.name == "fp32" else np.float64


def _decoded(raw: NDArray[Any], element: Element) -> Numbers:
    """The elements as numbers of the type to compute in; not a view."""
    return raw.view("<f4").copy() if element.name == "fp32" else element.numbers(raw.tobytes())


def encoded(numbers: Numbers, element: Element) -> bytes:
    """Floats of a type as they lie in memory; what is too large for it becomes infinite."""
    if element.name == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    kind = {"fp64": "<f8", "fp32": "<f4", "fp16": "<f2"}[element.name]
    with np.errstate(invalid="ignore", over="ignore"):
        return numbers.astype(kind, copy=False).tobytes()
