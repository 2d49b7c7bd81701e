"""A captured dispatch whose pointers share no memory: what several of them led to, each has for itself.

Takes a dispatch, gives one in which every pointer after the first into a buffer leads to a copy of it, with its numbers
in reverse order and floats made smaller. It shows a candidate that is only right where pointers are the same, as in
`dot(r, r)`. A reference that needs them to be, such as a loop from one pointer to another, fails there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.element_types import Segment, pointees, segments
from hipscope.accordo.trials.fresh_inputs import encoded

_GAP = 1 << 20
_PAGE = 4096
_SCALE = 0.75


@dataclass(frozen=True)
class Copy:
    """A buffer of its own for one pointer, and what it holds. `buffer` has no files yet."""

    buffer: CapturedBuffer
    contents: bytes


def pointers_apart(dispatch: CapturedDispatch, types: Sequence[str]) -> tuple[bytes, list[Copy]]:
    """The kernarg segment that leads to the copies, and the copies; none where no pointers share a buffer.

    `types` are the types of the kernel's parameters.
    """
    kernarg = bytearray(dispatch.kernarg())
    copies: list[Copy] = []
    at = max((b.address + b.size for b in dispatch.buffers), default=0)
    for buffer in dispatch.buffers:
        for word, argument in _pointers(dispatch, dispatch.kernarg(), buffer)[1:]:
            at = -(-at // _PAGE) * _PAGE + _GAP
            offset = int.from_bytes(kernarg[word : word + 8], "little") - buffer.address
            index = len(dispatch.buffers) + len(copies)
            copy = replace(buffer, index=index, address=at, arguments=((argument, offset),))
            pieces = segments(copy, pointees("", types))
            copies.append(Copy(copy, _other_numbers(buffer.before(), pieces)))
            kernarg[word : word + 8] = (at + offset).to_bytes(8, "little")
            at += buffer.size
    return bytes(kernarg), copies


def _pointers(dispatch: CapturedDispatch, kernarg: bytes, buffer: CapturedBuffer) -> list[tuple[int, int]]:
    """The words of the explicit arguments that lead into a buffer, as (offset in the kernarg segment, argument)."""
    return [
        (word, index)
        for index, argument in enumerate(dispatch.explicit_arguments)
        for word in range(argument.offset, argument.offset + argument.size - 7, 8)
        if 0 <= int.from_bytes(kernarg[word : word + 8], "little") - buffer.address < buffer.size
    ]


def _other_numbers(data: bytes, pieces: Sequence[Segment]) -> bytes:
    """Numbers that the buffer might as well have had; integers stay in range, what has no known type stays."""
    changed = bytearray(data)
    for piece in pieces:
        if piece.element.kind == "bytes":
            continue
        window = data[piece.start : piece.end]
        reverse = np.frombuffer(window, dtype=f"<u{piece.element.size}")[::-1].tobytes()
        if piece.element.kind == "float":
            reverse = encoded(_SCALE * piece.element.numbers(reverse), piece.element)
        changed[piece.start : piece.end] = reverse
    return bytes(changed)
