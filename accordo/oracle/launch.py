"""A recorded launch with doubles for floats: what the kernel in double precision is run on.

Takes a launch, its inputs and the code object with doubles, gives the launch to replay, or NoOracle with the reason.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.dispatch.writer import write_dispatch
from hipscope.analysis.source.number_types import WIDENED, Element
from hipscope.analysis.toolchain.code_object import CodeObject, KernelArgument

Images = Mapping[int, NDArray[np.float64]]  # by buffer, as many numbers as the buffer has floats

_PAGE = 4096
_GAP = 1 << 20


class NoOracle(Exception):
    """No double-precision version of this launch can be made; the message says why."""


@dataclass(frozen=True)
class WidenedKernel:
    """The kernel in double precision: its code object and its mangled name there."""

    code: CodeObject
    symbol: str


def write_widened(
    dispatch: CapturedDispatch,
    pieces: Mapping[int, tuple[Segment, ...]],
    inputs: Path | None,
    kernel: WidenedKernel,
    folder: Path,
    nudged: int = 0,
) -> CapturedDispatch:
    """The dispatch with doubles for floats in memory and among the arguments, in `folder`. Raises NoOracle.

    `nudged` other than 0 moves each float in memory by half a unit in its last place, up or down by that seed.
    Only for a replay: `buffers` and `arguments` of what is given are still those of the captured one.
    """
    if dispatch.variables:
        raise NoOracle("the code object has device variables")
    wide = {b.index: _wide_element(b, pieces[b.index]) for b in dispatch.buffers}
    at = -(-min((b.address for b in dispatch.buffers), default=0) // _PAGE) * _PAGE
    places: dict[int, int] = {}
    buffers: list[CapturedBuffer] = []
    contents: dict[str, bytes] = {}
    for buffer in dispatch.buffers:
        data = _contents(buffer, inputs)
        if (element := wide[buffer.index]) is not None:
            numbers = element.numbers(data[: len(data) // element.size * element.size]).astype("<f8")
            if nudged:
                signs = np.random.default_rng([nudged, buffer.index]).integers(0, 2, len(numbers)) * 2 - 1
                with np.errstate(invalid="ignore", over="ignore"):
                    numbers *= 1 + signs * (element.epsilon / 2)
            data = numbers.tobytes()
        elif _holds_addresses(data, dispatch):
            raise NoOracle("memory holds addresses of buffers")
        places[buffer.index] = at
        contents[buffer.before_file.name] = data
        buffers.append(replace(buffer, address=at, size=len(data)))
        at += -(-len(data) // _PAGE) * _PAGE + _GAP
    metadata = kernel.code.kernels[kernel.symbol]
    kernarg = bytearray(metadata.kernarg_size)
    old, new = dispatch.explicit_arguments, metadata.explicit_arguments
    if len(old) != len(new):
        raise NoOracle("its kernel takes other arguments")
    raw = dispatch.kernarg()
    for before, after in zip(old, new, strict=True):
        value = raw[before.offset : before.offset + before.size]
        value = _argument(value, before.value_kind, after, dispatch, wide, places)
        kernarg[after.offset : after.offset + after.size] = value
    derived = replace(
        dispatch,
        kernel=kernel.symbol,
        code_object=kernel.code.path,
        dynamic_lds=max(map(_times, wide.values()), default=1) * dispatch.dynamic_lds,
        buffers=tuple(buffers),
    )
    sizes = {
        "explicit_bytes": max((a.offset + a.size for a in new), default=0),
        "kernarg_bytes": metadata.kernarg_size,
    }
    written = write_dispatch(derived, folder, bytes(kernarg), contents, sizes)
    return replace(written, buffers=dispatch.buffers)


def float_buffers(
    dispatch: CapturedDispatch, pieces: Mapping[int, tuple[Segment, ...]]
) -> dict[int, Element]:
    """The buffers that are floats of one type from end to end: those that the oracle has in double precision."""
    found = {b.index: _wide_element(b, pieces[b.index]) for b in dispatch.buffers}
    return {index: element for index, element in found.items() if element is not None}


def _wide_element(buffer: CapturedBuffer, pieces: tuple[Segment, ...]) -> Element | None:
    elements = {p.element for p in pieces}
    if not any(e.name in WIDENED for e in elements):
        return None
    if len(elements) > 1 or buffer.size % next(iter(elements)).size:
        raise NoOracle("a buffer holds floats and something else")
    return elements.pop()


def _times(element: Element | None) -> int:
    """How many times as large the elements are in double precision."""
    return 8 // element.size if element is not None else 1


def _argument(
    value: bytes,
    kind: str,
    after: KernelArgument,
    dispatch: CapturedDispatch,
    wide: Mapping[int, Element | None],
    places: Mapping[int, int],
) -> bytes:
    if kind == "global_buffer":
        address = int.from_bytes(value, "little")
        for buffer in dispatch.buffers:
            if 0 <= (offset := address - buffer.address) < max(1, buffer.size):
                moved = places[buffer.index] + offset * _times(wide[buffer.index])
                return moved.to_bytes(8, "little")
        if address == 0:
            return value
        raise NoOracle("an argument points to no recorded buffer")
    if after.size == len(value):
        return _moved(value, dispatch, wide, places)
    if len(value) % 4 == 0 and after.size == 2 * len(value):  # a float, or a vector of them
        return struct.pack(f"<{len(value) // 4}d", *struct.unpack(f"<{len(value) // 4}f", value))
    raise NoOracle("its kernel takes other arguments")


def _moved(
    value: bytes, dispatch: CapturedDispatch, wide: Mapping[int, Element | None], places: Mapping[int, int]
) -> bytes:
    """An argument with the pointers in it led to the new places.

    A structure whose pointers are still to floats then reads nonsense, which `usable` sees.
    """
    moved = bytearray(value)
    for at in range(0, len(value) - 7, 8):
        word = int.from_bytes(value[at : at + 8], "little")
        for buffer in dispatch.buffers:
            if 0 <= (offset := word - buffer.address) < max(1, buffer.size):
                there = places[buffer.index] + offset * _times(wide[buffer.index])
                moved[at : at + 8] = there.to_bytes(8, "little")
    return bytes(moved)


def _holds_addresses(data: bytes, dispatch: CapturedDispatch) -> bool:
    words = np.frombuffer(data[: len(data) // 8 * 8], dtype="<u8")
    return any(
        bool(((words >= b.address) & (words < b.address + max(1, b.size))).any()) for b in dispatch.buffers
    )


def _contents(buffer: CapturedBuffer, inputs: Path | None) -> bytes:
    replaced = replacement(inputs, buffer.index)
    return buffer.before() if replaced is None else replaced_contents(replaced, buffer.before)
