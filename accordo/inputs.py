"""Fresh inputs for a captured dispatch: what a kernel only reads gets other values that it might as well have had.

Takes the captured buffers and the reference's access maps, gives replacement buffers. Elements are permuted, so that
indices and labels stay in range; floats are also scaled with alternating sign. Nothing the kernel writes is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer
from hipscope.accordo.dtypes import Element, Segment
from hipscope.accordo.replay import READ, WRITTEN

Access = NDArray[np.uint8]


def describe(trial: int) -> str:
    """What trial number `trial` (from 1) does to the inputs, in words."""
    return "inputs permuted" if trial % 2 else "inputs permuted, floats scaled with alternating sign"


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
            if segment.element.kind == "bytes" or (window & WRITTEN).any() or not (window & READ).any():
                continue
            fresh = _fresh(bytes(data[segment.start : segment.end]), segment.element, trial, generator)
            changed = changed or fresh != data[segment.start : segment.end]
            data[segment.start : segment.end] = fresh
        if changed:
            (directory / f"buffer_{buffer.index}.before").write_bytes(data)
            count += 1
    return count


def _fresh(data: bytes, element: Element, trial: int, generator: np.random.Generator) -> bytes:
    raw = np.frombuffer(data, dtype=f"<u{element.size}")
    shuffled = raw[generator.permutation(len(raw))]
    if element.kind != "float" or trial % 2:
        return shuffled.tobytes()
    scale = generator.uniform(0.5, 2.0, len(raw)) * np.where(np.arange(len(raw)) % 2, -1.0, 1.0)
    if element.name == "bf16":
        numbers = element.numbers(shuffled.tobytes()) * scale
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    kind = {"fp64": "<f8", "fp32": "<f4", "fp16": "<f2"}[element.name]
    with np.errstate(invalid="ignore", over="ignore"):
        return (shuffled.view(kind) * scale).astype(kind).tobytes()
