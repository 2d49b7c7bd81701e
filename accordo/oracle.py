"""The float64 oracle: the reference's kernel compiled with `double` for its floats, run on the same numbers.

Takes the reference's runs and the widened code object, gives for each run what the kernel's float outputs would be in
double precision. A candidate may be at most twice as far from that as the reference itself is.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dtypes import Segment
from hipscope.accordo.replaced import replaced_contents, replacement
from hipscope.analysis.source.number_types import WIDENED, Element
from hipscope.analysis.toolchain.code_object import CodeObject, KernelArgument
from hipscope.emulator.captures import seal

Images = Mapping[int, NDArray[np.float64]]  # by buffer, as many numbers as the buffer has floats

# A candidate's largest and mean error, in units of the type's last place: at most twice the reference's, plus this.
_FACTOR = 2.0
_LARGEST_SPARE = 4.0
_MEAN_SPARE = 1.0
ROUNDINGS = 8.0  # and not more than so many units in the last place of that
_MANY_ROUNDINGS = 64.0
_SMALL = 1 / 16  # of the output's root mean square
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
    return apart <= max(_USABLE, ROUNDINGS * epsilon) * size


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
    it is asked twice. Errors are in units of the last place of the oracle's value. Of elements much smaller than the
    others the worst do not count: what is left where a sum cancels is luck, for the reference as for the candidate.
    `terms` is how many values may be added up into one element in an order that nobody fixes.
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
    theirs, its = _Errors(), _Errors()
    for own, new, exact in _finite(parts()):
        unit = epsilon * np.maximum(np.abs(exact), max(1e-6 * size, smallest))
        large = np.abs(exact) >= _SMALL * size
        theirs.add(np.abs(own - exact) / unit, large)
        its.add(np.abs(new - exact) / unit, large)
    growth = float(np.sqrt(terms))
    for what, of, spare in (
        ("largest error", _Errors.largest, _LARGEST_SPARE),
        ("largest error but for a twentieth", _Errors.usual, _LARGEST_SPARE),
        ("mean error", _Errors.mean, _MEAN_SPARE),
    ):
        if of(its) > _FACTOR * of(theirs) + spare * growth:
            return (
                f"its {what} is {of(its):.3g} units in the last place, that of the reference {of(theirs):.3g}"
            )
    return None


_STEPS = np.exp2(np.arange(-4, 40, 0.125))


@dataclass
class _Errors:
    """What is known of errors that came some at a time."""

    greatest: float = 0.0
    total: float = 0.0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(_STEPS) + 1, dtype=np.int64))

    def add(self, errors: NDArray[np.float64], large: NDArray[np.bool_]) -> None:
        """Take note of some; `large` marks those of elements that are not small."""
        self.greatest = max(self.greatest, float(errors[large].max(initial=0.0)))
        self.total += float(np.minimum(errors, _MANY_ROUNDINGS).sum())
        self.counts += np.bincount(np.searchsorted(_STEPS, errors), minlength=len(self.counts))

    def largest(self) -> float:
        """Of the elements that are not small."""
        return self.greatest

    def usual(self) -> float:
        """What 95 % are not above, to a twelfth."""
        at = int(np.searchsorted(np.cumsum(self.counts), 0.95 * self.counts.sum()))
        return float(_STEPS[min(at, len(_STEPS) - 1)])

    def mean(self) -> float:
        """Of all, the worst of them cut."""
        return self.total / int(self.counts.sum())


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
