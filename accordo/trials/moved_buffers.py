"""A captured dispatch at other addresses: the buffers in reverse order, far apart, and if asked for a little longer.

Takes a dispatch, gives one whose pointers (arguments, and words in memory that hold an address of a buffer) lead to the
new places. It shows a candidate that looks at addresses, runs from one buffer into the next, or fits one size only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.emulator.captures import PACKED, read_checksums, seal, share

_PAGE = 4096
_GAP = 1 << 20
_SKEW = 256  # what hipMalloc aligns to: no candidate may count on more


@dataclass(frozen=True)
class _Move:
    old: int
    size: int
    new: int


def relocated(
    dispatch: CapturedDispatch, folder: Path, *, longer: bool = False, kernarg: bytes | None = None
) -> CapturedDispatch:
    """Write the moved dispatch to `folder`. `longer` appends some of each buffer's own contents to it, repeated.

    `kernarg` replaces the captured arguments (with the captured addresses in them).
    """
    folder.mkdir(parents=True, exist_ok=True)
    moves, sizes = _places(dispatch, longer)
    buffers = []
    recorded, shared = read_checksums(dispatch.directory), {}
    for buffer, move in zip(dispatch.buffers, moves, strict=True):
        before = buffer.before()
        data = _moved(before, moves)
        size = sizes[buffer.index]
        path = folder / f"buffer_{buffer.index}.before"
        if size == len(data) and data is before:
            kept = path.name if path.name in recorded else path.name + PACKED
            share(dispatch.directory / kept, folder / kept)
            shared[kept] = recorded[kept]
        else:
            path.write_bytes(_lengthened(data, size))
        buffers.append(replace(buffer, address=move.new, size=size, before_file=path))
    variables = []
    for variable in dispatch.variables:
        path = folder / variable.before_file.name
        path.write_bytes(_moved(variable.before(), moves))
        variables.append(replace(variable, before_file=path))
    arguments = _moved(dispatch.kernarg() if kernarg is None else kernarg, moves)
    (folder / "kernarg.bin").write_bytes(arguments)
    if not (folder / "code_object.co").exists():
        share(dispatch.code_object, folder / "code_object.co")
    _write_meta(dispatch, folder, buffers)
    seal(folder, shared)
    return replace(dispatch, directory=folder, buffers=tuple(buffers), variables=tuple(variables))


def _places(dispatch: CapturedDispatch, longer: bool) -> tuple[list[_Move], dict[int, int]]:
    """Where each buffer goes (in the order of `dispatch.buffers`) and how long it becomes there."""
    start = min((b.address for b in dispatch.buffers), default=0)
    sizes, found = {}, {}
    at = -(-start // _PAGE) * _PAGE + _GAP
    for buffer in sorted(dispatch.buffers, key=lambda b: -b.address):
        size = buffer.size + (max(_PAGE, buffer.size // 8 // _PAGE * _PAGE) if longer else 0)
        sizes[buffer.index] = size
        found[buffer.index] = _Move(buffer.address, buffer.size, at + _SKEW)
        at += -(-size // _PAGE) * _PAGE + _GAP
    return [found[b.index] for b in dispatch.buffers], sizes


def _moved(data: bytes, moves: Sequence[_Move]) -> bytes:
    """The bytes with every aligned 8-byte word that is an address in a buffer led to the new place.

    The same object when there is no such word.
    """
    whole = len(data) // 8 * 8
    original = np.frombuffer(data, dtype="<u8", count=whole // 8)
    lowest = min((m.old for m in moves), default=0)
    highest = max((m.old + max(1, m.size) for m in moves), default=0)
    if not ((original >= lowest) & (original < highest)).any():
        return data
    words = original.copy()
    for move in moves:
        inside = (original >= move.old) & (original < move.old + max(1, move.size))
        words[inside] = original[inside] - np.uint64(move.old) + np.uint64(move.new)
    return words.tobytes() + data[whole:]


def _lengthened(data: bytes, size: int) -> bytes:
    """The bytes, and as many of them again as it takes."""
    repeats, rest = divmod(size, max(1, len(data)))
    return data * repeats + data[:rest]


def _write_meta(dispatch: CapturedDispatch, folder: Path, buffers: Sequence[CapturedBuffer]) -> None:
    meta = json.loads((dispatch.directory / "meta.json").read_text(encoding="utf-8"))
    for entry, buffer in zip(meta["buffers"], buffers, strict=True):
        entry |= {"address": buffer.address, "bytes": buffer.size}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
