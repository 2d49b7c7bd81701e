"""A candidate's floats against double precision: as near to it as the reference, or less precise.

Takes numbers of the reference, the candidate and the double-precision run, gives masks and sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# A candidate's largest and mean error, in units of the type's last place: at most twice the reference's, plus this.
_FACTOR = 2.0
_LARGEST_SPARE = 4.0
_MEAN_SPARE = 1.0
ROUNDINGS = 8.0  # and not more than so many units in the last place of that
_MANY_ROUNDINGS = 64.0
_SUMMANDS = 8.0  # times what half a unit in the last place of every input makes
_SMALL = 1 / 16  # of the output's root mean square
ROUNDING = 3e-2  # a difference larger than this, relative to the largest output, is no matter of rounding
_USABLE = 2e-2  # an oracle that is farther away than this, relative to the output's size, is another function


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
    rounding: NDArray[np.float64] | None = None,
) -> NDArray[np.bool_]:
    """Which elements are about as near to the truth as those of the reference.

    `rounding` says for each element what half a unit in the last place of all inputs makes there: s. Operations in
    another order are off by a multiple of it that grows with their number. That number is told by the reference: with
    its own errors e, r = max(1, root mean square of e / s), and what is allowed beside the tolerance is 8 r s. Without
    `rounding`,
    what is allowed is the tolerance around the truth, and twice the largest error of the reference. Errors count
    relative to the element plus a tenth of the output's root mean square, as in the tolerance. One that is larger than
    many roundings is none: double precision may have taken another branch there.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(expected) & np.isfinite(got) & np.isfinite(oracle)
        if not finite.any():
            return finite
        if rounding is not None:
            known = finite & (rounding > 0)
            shares = np.minimum(np.abs(expected - oracle)[known] / rounding[known], _MANY_ROUNDINGS)
            growth = max(1.0, float(np.sqrt(np.mean(np.square(shares))))) if known.any() else 1.0
            allowed = absolute + relative * np.abs(oracle) + _SUMMANDS * growth * rounding
            return np.asarray(finite & (np.abs(got - oracle) <= allowed))
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
    `terms` is how many values may be added up into one element in no fixed order.
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
