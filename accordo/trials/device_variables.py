"""Other values for device variables: what a kernel reads from `__constant__` and `__device__` memory is input, too.

Takes a captured variable, gives bytes that it might as well have held. Nothing says what type it has: an array
is turned round by whole words, so that every element is one that was there; a single word is read as a number of the
size it looks like, and one that was zero as what the kernel makes of it. Whether the reference is well defined with
it, the caller must see.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedVariable

_LIKELY = (1e-12, 1e12)  # sizes of floats that people write into programs


def other_value(variable: CapturedVariable, buffers: Sequence[CapturedBuffer]) -> bytes:
    """Another value; the same when there is no other that is likely to be meant, as for pointers to a buffer."""
    data = variable.before()
    if len(data) % 4 != 0 or _points(data, buffers):
        return data
    word = 8 if len(data) % 8 == 0 else 4  # elements of 8 bytes must stay whole
    turned = data[word:] + data[:word]
    if turned != data:
        return turned
    left = variable.after()
    if (
        left is not None and left != data and not any(data)
    ):  # a total, or something like it: no flag and no size
        return b"".join(_other_number(w) if any(w) else w for w in _cut(left, word))
    return b"".join(_other_number(w) for w in _cut(data, word))


def _other_number(word: bytes) -> bytes:
    """A float three quarters as large, an integer above 1 one less; all others as they are."""
    layout = "<d" if len(word) == 8 else "<f"
    (value,) = struct.unpack(layout, word)
    if math.isfinite(value) and _LIKELY[0] < abs(value) < _LIKELY[1]:
        return struct.pack(layout, value * 0.75)
    integer = int.from_bytes(word, "little", signed=True)
    return (integer - 1).to_bytes(len(word), "little", signed=True) if integer > 1 else word


def _points(data: bytes, buffers: Sequence[CapturedBuffer]) -> bool:
    whole = len(data) // 8 * 8
    words = [int.from_bytes(w, "little") for w in _cut(data[:whole], 8)]
    return any(b.address <= w < b.address + b.size for w in words for b in buffers)


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]
