"""The float64 oracle: the reference's kernel compiled with `double` for its floats, run on the same numbers.

Takes the reference's runs and the widened code object, gives for each run what the kernel's float outputs would be in
double precision. A candidate may be at most twice as far from that as the reference itself is.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dtypes import WIDENED, Element, Segment
from hipscope.analysis.codeobject import CodeObject, KernelArgument
from hipscope.emulator.captures import seal

Images = Mapping[int, NDArray[np.float64]]  # by buffer, as many numbers as the buffer has floats

# A candidate's largest and mean error, in units of the type's last place: at most twice the reference's, plus this.
_FACTOR = 2.0
_LARGEST_SPARE = 4.0
_MEAN_SPARE = 1.0
_ROUNDINGS = 8.0
_MANY_ROUNDINGS = 64.0
ROUNDING = 3e-2  # a difference larger than this, relative to the largest output, is no matter of rounding
_USABLE = 2e-2  # an oracle that is farther away than this, relative to the output's size, is another function
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
) -> CapturedDispatch:
    """The dispatch with doubles for floats in memory and among the arguments, in `folder`. Raises NoOracle.

    Only for a replay: `buffers` and `arguments` of what is given are still those of the captured one.
    """
    if dispatch.variables:
        raise NoOracle("the code object has device variables")
    folder.mkdir(parents=True, exist_ok=True)
    wide = {b.index: _wide_element(b, pieces[b.index]) for b in dispatch.buffers}
    at = -(-min((b.address for b in dispatch.buffers), default=0) // _PAGE) * _PAGE
    places: dict[int, int] = {}
    buffers = []
    for buffer in dispatch.buffers:
        data = _contents(buffer, inputs)
        if (element := wide[buffer.index]) is not None:
            data = element.numbers(data[: len(data) // element.size * element.size]).astype("<f8").tobytes()
        elif _holds_addresses(data, dispatch):
            raise NoOracle("memory holds addresses of buffers")
        places[buffer.index] = at
        path = folder / f"buffer_{buffer.index}.before"
        path.write_bytes(data)
        buffers.append({"address": at, "bytes": len(data)})
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
    (folder / "kernarg.bin").write_bytes(kernarg)
    meta = json.loads((dispatch.directory / "meta.json").read_text(encoding="utf-8"))
    for entry, place in zip(meta["buffers"], buffers, strict=True):
        entry |= place
    explicit = max((a.offset + a.size for a in new), default=0)
    meta |= {
        "kernel": kernel.symbol, "globals": [], "explicit_bytes": explicit, "kernarg_bytes": metadata.kernarg_size,
        "dynamic_lds": max(map(_times, wide.values()), default=1) * dispatch.dynamic_lds,
    }  # fmt: skip
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    seal(folder)
    return replace(dispatch, directory=folder, kernel=kernel.symbol, code_object=kernel.code.path)


def float_buffers(
    dispatch: CapturedDispatch, pieces: Mapping[int, tuple[Segment, ...]]
) -> dict[int, Element]:
    """The buffers that are floats of one type from end to end: those that the oracle has in double precision."""
    found = {b.index: _wide_element(b, pieces[b.index]) for b in dispatch.buffers}
    return {index: element for index, element in found.items() if element is not None}


def usable(expected: NDArray[np.float64], oracle: NDArray[np.float64], epsilon: float) -> bool:
    """Whether the oracle computes the same function as the reference, going by how close they are."""
    finite = np.isfinite(expected) & np.isfinite(oracle)
    if not finite.any():
        return False
    size = float(np.sqrt(np.mean(oracle[finite] ** 2)))
    apart = float(np.sqrt(np.mean((expected[finite] - oracle[finite]) ** 2)))
    return apart <= max(_USABLE, _ROUNDINGS * epsilon) * size


def as_good(
    expected: NDArray[np.float64],
    got: NDArray[np.float64],
    oracle: NDArray[np.float64],
    epsilon: float,
    relative: float,
    absolute: float,
) -> NDArray[np.bool_]:
    """Which elements are about as near to the truth as those of the reference.

    What is allowed is the tolerance around the truth, and twice the largest error of the reference. Errors count
    relative to the element plus a tenth of the output's root mean square, as in the tolerance. One that is larger than
    many roundings is none: double precision may have taken another branch there.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(expected) & np.isfinite(got) & np.isfinite(oracle)
        if not finite.any():
            return finite
        scale = np.abs(oracle) + 0.1 * float(np.sqrt(np.mean(oracle[finite] ** 2)))
        scale = np.maximum(scale, np.finfo(np.float64).tiny)
        errors = (np.abs(expected - oracle) / scale)[finite]
        own = float(errors[errors <= min(_USABLE, _MANY_ROUNDINGS * epsilon)].max(initial=0.0))
        allowed = absolute + relative * np.abs(oracle) + _FACTOR * own * scale
        return np.asarray(finite & (np.abs(got - oracle) <= allowed))


def less_precise(
    parts: Callable[[], Iterable[tuple[NDArray[np.float64], ...]]], epsilon: float, terms: int
) -> str | None:
    """Why the candidate's floats count as less precise than the reference's, in words; None when they do not.

    `parts` gives, some elements at a time, those that the reference writes: its own, the candidate's, and the oracle's;
    it is asked twice. Errors are in units of the last place of the oracle's value. `terms` is how many values may be
    added up into one element in an order that nobody fixes.
    """
    count, squares = 0, 0.0
    for _, _, exact in _finite(parts()):
        count += len(exact)
        squares += float(np.square(exact).sum())
    if count == 0:
        return None
    size = float(np.sqrt(squares / count))
    # Near 0 the last place is that of a value a millionth of the output's size: what a sum cancels to is no measure.
    smallest = (
        2.0**-14 if epsilon == 2.0**-10 else 2.0**-126
    )  # the last place of what lies below does not shrink
    greatest, total = [0.0, 0.0], [0.0, 0.0]
    for *images, exact in _finite(parts()):
        unit = epsilon * np.maximum(np.abs(exact), max(1e-6 * size, smallest))
        for i, values in enumerate(images):
            errors = np.abs(values - exact) / unit
            greatest[i] = max(greatest[i], float(errors.max()))
            total[i] += float(errors.sum())
    growth = float(np.sqrt(terms))
    (own, new), (own_mean, new_mean) = greatest, (t / count for t in total)
    if new > _FACTOR * own + _LARGEST_SPARE * growth:
        return f"its largest error is {new:.3g} units in the last place, that of the reference {own:.3g}"
    if new_mean > _FACTOR * own_mean + _MEAN_SPARE * growth:
        return (
            f"its mean error is {new_mean:.3g} units in the last place, that of the reference {own_mean:.3g}"
        )
    return None


def _finite(
    parts: Iterable[tuple[NDArray[np.float64], ...]],
) -> Iterator[tuple[NDArray[np.float64], ...]]:
    """Of each part the elements where all three are finite, if there are any."""
    for part in parts:
        known = np.logical_and.reduce([np.isfinite(numbers) for numbers in part])
        if known.all() and len(known):
            yield part
        elif known.any():
            yield tuple(numbers[known] for numbers in part)


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
    if len(value) > 8 or (len(value) == 8 and _holds_addresses(value, dispatch)):
        raise NoOracle("an argument is a structure")
    if after.size == len(value):
        return value
    if (len(value), after.size) == (4, 8):
        return struct.pack("<d", struct.unpack("<f", value)[0])
    raise NoOracle("its kernel takes other arguments")


def _holds_addresses(data: bytes, dispatch: CapturedDispatch) -> bool:
    words = np.frombuffer(data[: len(data) // 8 * 8], dtype="<u8")
    return any(
        bool(((words >= b.address) & (words < b.address + max(1, b.size))).any()) for b in dispatch.buffers
    )


def _contents(buffer: CapturedBuffer, inputs: Path | None) -> bytes:
    replaced = inputs / f"buffer_{buffer.index}.before" if inputs is not None else None
    return replaced.read_bytes() if replaced is not None and replaced.exists() else buffer.before()
