"""Columns of a table: numbers as arrays, texts as codes into a list of names.

Takes lists or arrays, gives arrays of one length. A whole number that is not there is `MISSING`, a number NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = -(1 << 63)
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_LARGEST = (1 << 63) - 1
_FEW = 1 << 20  # numbers that a table can be made for


@dataclass(frozen=True)
class Texts:
    """A column of texts: `codes` are places in `names`."""

    codes: Integers
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.names[int(self.codes[row])]

    def used(self) -> frozenset[str]:
        """The texts that some row has."""
        return frozenset(self.names[code] for code in np.unique(self.codes).tolist())

    def take(self, rows: Integers) -> Texts:
        """These rows."""
        return Texts(self.codes[rows], self.names)


def texts(values: Iterable[object]) -> Texts:
    """A column of texts; None is an empty one."""
    places: dict[str, int] = {}
    codes = [
        places.setdefault(v if isinstance(v, str) else "" if v is None else str(v), len(places))
        for v in values
    ]
    return Texts(np.array(codes, dtype=np.int64), tuple(places))


def same_text(text: str, length: int) -> Texts:
    """A column that holds one text everywhere."""
    return Texts(np.broadcast_to(np.int64(0), length), (text,))


def integers(values: Sequence[object]) -> Integers:
    """A column of whole numbers; what is none, or has more than 63 bits, is MISSING."""
    try:
        return np.array(values, dtype=np.int64).reshape(len(values))  # the rule: numbers, or digits
    except (ValueError, TypeError, OverflowError):
        return np.array([_integer(v) for v in values], dtype=np.int64).reshape(len(values))


def numbers(values: Sequence[object]) -> Floats:
    """A column of finite numbers; anything else is NaN."""
    try:
        found = np.array(values, dtype=np.float64).reshape(len(values))
    except (ValueError, TypeError, OverflowError):
        return np.array([_number(v) for v in values], dtype=np.float64).reshape(len(values))
    found[~np.isfinite(found)] = np.nan
    return found


def absent(length: int) -> Integers:
    """A column of whole numbers of which none is known."""
    return np.broadcast_to(np.int64(MISSING), length)  # takes no memory


def concatenated_texts(parts: Sequence[Texts]) -> Texts:
    """Columns of texts one after the other."""
    places: dict[str, int] = {}
    codes = []
    for part in parts:
        moved = np.array([places.setdefault(n, len(places)) for n in part.names], dtype=np.int64)
        codes.append(moved[part.codes] if len(part.names) else part.codes)
    return Texts(np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64), tuple(places))


def grouped(columns: Sequence[Integers]) -> tuple[list[list[int]], Integers]:
    """The rows of columns that are there, each once and in order, by column; and for each row the place of its own.

    Sorting rows takes minutes where there are millions: they become one number, and few of those are possible.
    """
    length = len(columns[0])
    keys = np.zeros(length, dtype=np.int64)
    possible = 1
    known: list[Integers] = []
    for column in columns:
        values, codes = _coded(column)
        if possible * len(values) > _LARGEST:  # numbers of no capture: a damaged one may hold them
            rows, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
            return [row.tolist() for row in rows], inverse.reshape(-1)
        possible *= len(values)
        keys = keys * len(values) + codes
        known.append(values)
    if possible <= 4 * length + _FEW:
        there = np.flatnonzero(np.bincount(keys, minlength=possible))
        places = np.zeros(possible, dtype=np.int64)
        places[there] = np.arange(len(there))
        inverse = places[keys]
    else:
        there, inverse = np.unique(keys, return_inverse=True)
    cells: list[list[int]] = []
    for values in reversed(known):
        there, codes = np.divmod(there, len(values))
        cells.append(values[codes].tolist())
    return cells[::-1], inverse


def _coded(column: Integers) -> tuple[Integers, Integers | int]:
    """The values of a column in order, and for each row the place of its own."""
    if not len(column) or column.strides == (0,):
        return column[:1], 0
    known = column[column != MISSING]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, -1)
    if high - low >= _FEW:
        values, codes = np.unique(column, return_inverse=True)
        return values, codes
    values = np.concatenate([np.array([MISSING]), np.arange(low, high + 1)])
    return values, np.where(column == MISSING, 0, column - (low - 1))


def optional(value: Any) -> int | None:
    """One cell of a column of whole numbers."""
    return None if value == MISSING else int(value)


def _integer(value: object) -> int:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            value = _number(value)
    if isinstance(value, float):
        if value != value or not -9e18 < value < 9e18:
            return MISSING
        value = int(value)
    if isinstance(value, int):
        return value if -_LARGEST <= value <= _LARGEST else MISSING
    return MISSING


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return np.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return np.nan
    return number if -1e300 < number < 1e300 else np.nan
