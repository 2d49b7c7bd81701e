"""A launch in which one integer argument is so large that element numbers do not fit into 32 bits.

Takes a captured dispatch and its integers, gives dispatches with few workgroups over buffers of many GiB. Of those only
pages exist that the reference reads: they get numbers of the captured buffers. So a row length can be tried that no
machine has the memory for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.access_map import PAGE, READ, AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.writer import write_dispatch
from hipscope.accordo.trials.moved_buffers import moved_to
from hipscope.accordo.trials.scalar_arguments import Number, numbers_of, with_changes

_ALL_BYTES = 100 << 30  # of all buffers together: what is not touched takes no memory
_MOST_BYTES = 18 << 30  # of one: 2^32 floats, and some
_OF_MEMORY = 0.75  # the system promises no more at once
_MOST_BUFFERS = 6
_ROWS = 12  # along the last side: as many of the longest rows are beyond 32 bits
_FEW_GROUPS = 2
_MOST_GROUPS = 512
_GAP = 1 << 21
_MOST_PAGES = 1 << 14  # of a buffer, that are read
_FEW_NUMBERS = 3


@dataclass(frozen=True)
class SparseLaunch:
    """A launch and where its buffers are written down, which are all zero before `fill`."""

    label: str
    dispatch: CapturedDispatch
    inputs: Path


def row_lengths(dispatch: CapturedDispatch, types: Sequence[str]) -> list[Number]:
    """The integers that may be the length of a row; none where the launch cannot be made so large."""
    if (
        not dispatch.buffers
        or len(dispatch.buffers) > _MOST_BUFFERS
        or math.prod(_groups(dispatch)) > _MOST_GROUPS
    ):
        return []
    numbers = numbers_of(dispatch, types)
    return [n for n in numbers if n.kind == "integer" and n.declared and n.value > 1][:_FEW_NUMBERS]


def bytes_of_each(count: int) -> int:
    """How large each of so many buffers may be."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(_MOST_BYTES, int(_OF_MEMORY * memory), _ALL_BYTES // count) // PAGE * PAGE


def sparse_launch(
    dispatch: CapturedDispatch, number: Number, value: int, size: int, folder: Path
) -> SparseLaunch:
    """The launch with few workgroups, that value of an integer, and buffers of `size` bytes, all zero."""
    groups = _groups(dispatch)
    x, y, z = (count * side for count, side in zip(groups, dispatch.workgroup, strict=True))
    kernarg = with_changes(dispatch.kernarg(), [number], lambda _: value)
    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    at = -(-min(b.address for b in dispatch.buffers) // PAGE) * PAGE + _GAP
    buffers = []
    for buffer in dispatch.buffers:
        buffers.append(replace(buffer, address=at, size=size))
        with (inputs / f"buffer_{buffer.index}.before").open("wb") as file:
            file.truncate(size)
        at += size + _GAP
    arguments = moved_to(kernarg, dispatch.buffers, buffers)
    changed = replace(dispatch, grid=(x, y, z), buffers=tuple(buffers))
    made = write_dispatch(changed, folder / "launch", arguments, {})
    return SparseLaunch(f"{number.label} {value:,}", made, inputs)


def fill(launch: SparseLaunch, captured: Sequence[CapturedBuffer], access: Mapping[int, AccessMap]) -> bool:
    """Give numbers to the pages that the reference reads; False where it reads too many."""
    for buffer, old in zip(launch.dispatch.buffers, captured, strict=True):
        source = np.resize(old.mapped(), max(PAGE, old.size // 8 * 8))
        pages = sorted(
            {
                page
                for at, bits in access[buffer.index].runs
                for page in np.unique((at + np.flatnonzero(bits & READ)) // PAGE).tolist()
            }
        )
        if len(pages) > _MOST_PAGES:
            return False
        with (launch.inputs / f"buffer_{buffer.index}.before").open("r+b") as file:
            for number, page in enumerate(pages):
                file.seek(int(page) * PAGE)
                begin = number * PAGE * 5 % (len(source) - PAGE + 1) // 8 * 8
                file.write(source[begin : begin + min(PAGE, buffer.size - int(page) * PAGE)].tobytes())
    return True


def _groups(dispatch: CapturedDispatch) -> list[int]:
    """One workgroup along each side; along the last that has several, so many that there are some rows."""
    counts = [-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True)]
    last = max((n for n, count in enumerate(counts) if count > 1), default=0)
    few = [1, 1, 1]
    few[last] = max(_FEW_GROUPS, -(-_ROWS // dispatch.workgroup[last]))
    return [min(count, most) for count, most in zip(counts, few, strict=True)]
