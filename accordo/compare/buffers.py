"""Compares the memory that two runs of one dispatch left behind.

Takes bytes before, reference bytes after, candidate bytes after, and which bytes the reference wrote; gives the first
difference, how many, how large, and a small map of where. Bytes that the reference left alone must be untouched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.double_precision import as_good
from hipscope.accordo.compare.tolerance import Tolerance
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.model.defences import NOTHING_OFF, Without
from hipscope.accordo.model.verdict import Mismatch
from hipscope.analysis.source.number_types import BYTES, Element

MAP_COLUMNS = 32
MAP_ROWS = 8

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Errors:
    """The largest differences among the elements that count as equal (so zero for exact results).

    `relative` is as the tolerance is, to the element and a tenth of the output's size. `by_truth`: some are further
    off, and as near to double precision as the reference is; they count in `absolute` alone.
    """

    absolute: float = 0.0
    relative: float = 0.0
    ulp: int = 0
    by_truth: bool = False

    def widened(self, other: Errors) -> Errors:
        """The larger of both, number by number."""
        return Errors(
            max(self.absolute, other.absolute),
            max(self.relative, other.relative),
            max(self.ulp, other.ulp),
            self.by_truth or other.by_truth,
        )


@dataclass(frozen=True)
class Piece:
    """One segment with the tolerance for it and the name that a reader knows it by.

    `oracle` is what its elements are in double precision: one that is too far from the reference may still be as near
    to that. `rounding` is how far it moves with the last places of its inputs. `finite_only`: the program promises that
    no float is NaN or infinite; one that is not finite is as good as another.
    `infinite_for_nan`: an infinity where the reference has NaN is no difference, nor is NaN itself.
    """

    segment: Segment
    tolerance: Tolerance
    label: str
    oracle: NDArray[np.float64] | None = None
    rounding: NDArray[np.float64] | None = None
    finite_only: bool = False
    infinite_for_nan: bool = False


def compare_buffer(
    pieces: tuple[Piece, ...],
    *,
    before: bytes,
    expected: bytes,
    got: bytes,
    written: Mask | None,
    is_input: bool,
    buffer: int,
    without: Without = NOTHING_OFF,
) -> tuple[tuple[Mismatch, ...], Errors]:
    """The differences of one buffer, at most one for each piece and kind of difference.

    `written` marks the bytes that the reference wrote; None means not known, then every byte that differs from
    `before` in `expected` counts as written. `is_input` words a difference as a changed input.
    """
    if len(expected) != len(got):
        raise ValueError(f"buffer {buffer}: {len(got)} bytes instead of {len(expected)}")
    initial, reference, candidate = (np.frombuffer(b, dtype=np.uint8) for b in (before, expected, got))
    mask = written if written is not None else initial != reference
    found: list[Mismatch] = []
    errors = Errors()
    for piece in pieces:
        window = slice(piece.segment.start, piece.segment.end)
        old, right, new, touched = initial[window], reference[window], candidate[window], mask[window]
        stray = (new != old) & ~touched
        if piece.segment.only is not None:
            stray &= np.repeat(piece.segment.only, piece.segment.element.size)
        if written is None:
            stray &= new != right
        if ("inputs_untouched" if is_input else "written_bytes_only") in without:
            stray &= False
        if stray.any():
            what = "it changes an input" if is_input else "it writes where the reference does not"
            found.append(_stray(what, piece, buffer, old, new, stray))
            continue
        wrong, wide = wrong_elements(piece, right, new, touched)
        if "not_finite_places" in without and piece.segment.element.kind == "float":
            numbers = [piece.segment.element.numbers(image.tobytes()) for image in (right, new)]
            wrong &= np.isfinite(numbers[0]) & np.isfinite(numbers[1])
        errors = errors.widened(wide)
        if wrong.any():
            found.append(_wrong(piece, buffer, right, new, wrong, touched))
    return tuple(found), errors


def largest_difference(pieces: tuple[Piece, ...], one: bytes, other: bytes) -> dict[int, float]:
    """For each piece (by its start) the largest absolute difference between two images, finite values only."""
    result = {}
    for piece in pieces:
        element = piece.segment.element
        a, b = (element.numbers(image[piece.segment.start : piece.segment.end]) for image in (one, other))
        with np.errstate(invalid="ignore", over="ignore"):
            difference = np.abs(a - b)
        finite = difference[
            np.isfinite(difference) & (True if piece.segment.only is None else piece.segment.only)
        ]
        result[piece.segment.start] = float(finite.max()) if finite.size else 0.0
    return result


def _per_element(mask: Mask, size: int) -> Mask:
    return np.asarray(np.ascontiguousarray(mask).view(f"<u{size}") != 0)


def wrong_elements(
    piece: Piece, right: Bytes, new: Bytes, touched: Mask, start: int | None = None
) -> tuple[Mask, Errors]:
    """Which elements are wrong where the reference wrote, and how far off the others are.

    What is given of the buffer begins at its byte `start`; without that, it is the whole piece.
    """
    element, start = piece.segment.element, piece.segment.start if start is None else start
    candidates = _per_element((right != new) & touched, element.size)
    if (only := piece.segment.of_type(start, len(candidates))) is not None:
        candidates &= only
    if element.kind != "float" or not candidates.any():
        return candidates, Errors()
    at = np.flatnonzero(candidates)  # only these are looked at: of a large buffer, mostly few differ
    raw = [image.view(f"<u{element.size}")[at].tobytes() for image in (right, new)]
    expected, got = (element.numbers(data) for data in raw)
    # Which NaN it is, no compiler promises; and where it may assume that there is none, nor infinity, neither of those.
    if piece.finite_only:
        alike = ~np.isfinite(expected) & ~np.isfinite(got)
    else:
        alike = np.isnan(expected) & (np.isnan(got) | (np.isinf(got) & piece.infinite_for_nan))
    if piece.tolerance.exact:
        candidates[at] = ~alike
        return candidates, Errors()
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(got - expected)
        absolute = piece.tolerance.absolute_at(
            at + (start - piece.segment.start) // element.size, piece.segment.sites
        )
        allowed = absolute + piece.tolerance.relative * np.abs(expected)
        near = within = difference <= allowed
    if piece.oracle is not None:
        near = near | _near_the_truth(piece, piece.oracle, right, new, touched)[at]
    # NaN and infinity are values like any other: they must stand in the same places.
    fine = np.where(np.isfinite(expected) & np.isfinite(got), near, alike | (expected == got))
    accepted = fine & np.isfinite(expected) & np.isfinite(got)
    errors = Errors()
    if accepted.any():
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            scaled = np.where(allowed > 0, difference / allowed, 0.0) * piece.tolerance.relative
        errors = _errors(element, raw[0], raw[1], difference, scaled, accepted, within)
    candidates[at] = ~fine
    return candidates, errors


def _near_the_truth(
    piece: Piece, oracle: NDArray[np.float64], right: Bytes, new: Bytes, touched: Mask
) -> Mask:
    """The elements that the reference writes and that are about as near to double precision as its own are."""
    element, tolerance = piece.segment.element, piece.tolerance
    assert isinstance(tolerance.absolute, float)  # there is double precision for declared types only
    written = _per_element(touched, element.size)
    expected, got = (element.numbers(image.tobytes())[written] for image in (right, new))
    found = np.zeros(len(written), dtype=bool)
    found[written] = as_good(
        expected,
        got,
        oracle[written],
        element.epsilon,
        tolerance.relative,
        tolerance.absolute,
        None if piece.rounding is None else piece.rounding[written],
    )
    return found


def _errors(
    element: Element,
    right: bytes,
    new: bytes,
    difference: NDArray[np.float64],
    scaled: NDArray[np.float64],
    accepted: Mask,
    within: Mask,
) -> Errors:
    """`scaled`: the differences in the tolerance's measure; `within`: which elements are within the tolerance."""
    at = accepted & within
    steps = np.abs(element.bits(right)[at] - element.bits(new)[at])
    return Errors(
        float(difference[accepted].max()),
        float(scaled[at].max(initial=0.0)),
        int(steps.max(initial=0)),
        bool((accepted & ~within).any()),
    )


def _stray(what: str, piece: Piece, buffer: int, old: Bytes, new: Bytes, stray: Mask) -> Mismatch:
    element = piece.segment.element
    wrong = _per_element(stray, element.size)
    first = int(np.argmax(wrong))
    return Mismatch(
        kind="input_changed" if "input" in what else "stray_write",
        message=f"{what}: {piece.label}, element {first}",
        buffer=buffer,
        label=piece.label,
        element=element.name,
        first_index=first,
        byte_offset=piece.segment.start + first * element.size,
        expected=_shown(element, old, first),
        got=_shown(element, new, first),
        count=int(wrong.sum()),
        total=len(wrong),
        map=draw_map(wrong, None),
    )


def _wrong(piece: Piece, buffer: int, right: Bytes, new: Bytes, wrong: Mask, touched: Mask) -> Mismatch:
    element = piece.segment.element
    first = int(np.argmax(wrong))
    expected, got = element.numbers(right.tobytes())[wrong], element.numbers(new.tobytes())[wrong]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        difference = np.abs(got - expected)
        relative = difference / np.abs(expected)
    finite = np.isfinite(relative)
    ulp = None
    if element.kind == "float":
        ulp = int(np.abs(element.bits(right.tobytes())[wrong] - element.bits(new.tobytes())[wrong]).max())
    written = _per_element(touched, element.size)
    if piece.segment.only is not None:
        written &= piece.segment.only
    count, total = int(wrong.sum()), int(written.sum())
    was, now = _told_apart(element, right, new, first)
    return Mismatch(
        kind="wrong_value",
        message=f"{count} of {total} elements of {piece.label} are wrong; the first is element {first}: "
        f"{now} instead of {was}",
        buffer=buffer,
        label=piece.label,
        element=element.name,
        first_index=first,
        byte_offset=piece.segment.start + first * element.size,
        expected=was,
        got=now,
        count=count,
        total=total,
        max_absolute=float(difference[np.isfinite(difference)].max(initial=0.0)),
        max_relative=float(relative[finite].max(initial=0.0)),
        max_ulp=ulp,
        map=draw_map(wrong, written),
    )


def _told_apart(element: Element, right: Bytes, new: Bytes, index: int) -> tuple[str, str]:
    """Both values of an element, doubles with as many digits as it takes to see that they differ."""
    shown = _shown(element, right, index), _shown(element, new, index)
    if element.kind == "float" and shown[0] == shown[1]:
        return _shown(element, right, index, digits=17), _shown(element, new, index, digits=17)
    return shown


def _shown(element: Element, image: Bytes, index: int, digits: int = 9) -> str:
    raw = image[index * element.size : (index + 1) * element.size].tobytes()
    if element.kind == "float":
        return f"{element.numbers(raw)[0]:.{digits}g}"
    if element is BYTES:
        return f"0x{raw[0]:02x}"
    return str(int.from_bytes(raw, "little", signed=element.name.startswith("int")))


def draw_map(wrong: Mask, written: Mask | None) -> str:
    """A text picture of a buffer from its first to its last element: `x` wrong, `.` right, blank not written."""
    cells = min(MAP_COLUMNS * MAP_ROWS, len(wrong))
    if cells == 0:
        return ""
    edges = np.linspace(0, len(wrong), cells + 1).astype(int)
    picture = ""
    for start, end in pairwise(edges):
        used = written is None or bool(written[start:end].any())
        picture += "x" if wrong[start:end].any() else "." if used else " "
    return "\n".join(picture[i : i + MAP_COLUMNS] for i in range(0, cells, MAP_COLUMNS))
