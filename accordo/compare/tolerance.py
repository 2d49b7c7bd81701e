"""How far a floating-point result may be from the reference, by element type.

Integers and bytes: not at all. Floats: a relative part by type (more where many values are added up in an unknown
order), and an absolute part scaled to the size of the output itself, so that tiny outputs cannot hide behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.errors import UsageError
from hipscope.analysis.source.number_types import Element

_RELATIVE = {"fp64": 1e-12, "fp32": 1e-5, "fp16": 1e-3, "bf16": 8e-3}
_LEAST = {"fp64": 4 * 2.0**-1074, "fp32": 4 * 2.0**-149}
"""What the roundings of eight operations on denormals may come to, of half of the smallest number each. Denormals of 16
bits are results of programs, so they get none."""

_REDUCTION_FACTOR = 4.0  # k in k * sqrt(n) * eps
_SPREAD_FACTOR = 8.0


Sizes = float | NDArray[np.float64]
"""One for all elements; or a row for each stretch of them, with a column for each instruction that stores some."""

_STRETCH = 1024
_SIDE_BY_SIDE = 64
_APART = (*range(2, 17), 20, 24, 28, 32)


@dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= absolute + relative * |expected|; both zero: bit for bit (and -0 is not 0)."""

    relative: float = 0.0
    absolute: Sizes = 0.0

    @property
    def exact(self) -> bool:
        """No difference at all is allowed."""
        return self.relative == 0 and not np.any(self.absolute)

    def absolute_at(self, elements: NDArray[np.int64], sites: NDArray[np.uint8] | None = None) -> Sizes:
        """The absolute part for elements by their number in the piece. `sites` are those of the whole piece."""
        if isinstance(self.absolute, float):
            return self.absolute
        return np.asarray(self.absolute[elements // _STRETCH, 0 if sites is None else sites[elements]])


EXACT = Tolerance()


@dataclass(frozen=True)
class UserTolerance:
    """What the user allows: relative, and absolute where None leaves the share of the output's own size."""

    relative: float
    absolute: float | None = None


def parse_tolerance(text: str) -> tuple[str, UserTolerance]:
    """`ARG=RTOL` or `ARG=RTOL,ATOL` from the command line. Raises UsageError."""
    name, equals, numbers = text.partition("=")
    try:
        values = [float(n) for n in numbers.split(",")]
    except ValueError:
        values = []
    if not name or not equals or len(values) not in (1, 2) or not all(0 <= v < math.inf for v in values):
        raise UsageError(f"--tolerance {text}: not ARG=RTOL or ARG=RTOL,ATOL", "for example out=1e-4,1e-6")
    return name, UserTolerance(*values)


def user_tolerances(configured: Mapping[str, float | tuple[float, float]]) -> dict[str, UserTolerance]:
    """The `accordo.tolerances` of a project, by argument name."""
    return {
        name: UserTolerance(*value) if isinstance(value, tuple) else UserTolerance(value)
        for name, value in configured.items()
    }


def tolerance_for(
    element: Element,
    size: Callable[[], Sizes],
    *,
    terms: int = 1,
    spread: float = 0.0,
    user: UserTolerance | None = None,
) -> Tolerance:
    """The tolerance of one piece of output.

    `size` gives the root mean square of the output. `terms` is how many values may have been added up into one
    element, `spread` the largest absolute difference between two correct runs of the reference (atomics in another
    order), `user` what replaces the numbers of the type.
    """
    if element.kind != "float":
        return EXACT
    relative = user.relative if user is not None else _RELATIVE[element.name]
    if terms > 1:
        relative = max(relative, _REDUCTION_FACTOR * math.sqrt(terms) * element.epsilon)
    own = user.absolute if user is not None and user.absolute is not None else relative * 0.1 * size()
    least = max(_SPREAD_FACTOR * spread, _LEAST.get(element.name, 0.0) if user is None else 0.0)
    return Tolerance(relative, max(own, least) if isinstance(own, float) else np.maximum(own, least))


def size_of_smallest(numbers: NDArray[np.float64], members: int) -> float:
    """The root mean square, in an array of structures with so many numbers that of the smallest member."""
    whole = len(numbers) - len(numbers) % members
    if members == 1 or whole == 0:
        return root_mean_square(numbers)
    return min(root_mean_square(member) for member in numbers[:whole].reshape(-1, members).T)


def sizes_of_stored(
    numbers: NDArray[np.float64], only: NDArray[np.bool_] | None, sites: NDArray[np.uint8] | None
) -> NDArray[np.float64]:
    """For each stretch of elements the root mean square of the smallest that may belong together in it.

    What different instructions store does not (`sites`). Of the others nobody says which do: arrays may lie side by
    side there, or members of structures. So it is the least of any few that follow each other, and of what lies a fixed
    number of elements apart.
    """
    counts = np.isfinite(numbers) if only is None else only & np.isfinite(numbers)
    groups = [counts] if sites is None else [counts & (sites == site) for site in range(int(sites.max()) + 1)]
    scale = float(np.abs(numbers[counts]).max(initial=0.0))
    stretches = -(-len(numbers) // _STRETCH)
    if scale <= 0:
        return np.zeros((stretches, len(groups)))
    missing = stretches * _STRETCH - len(numbers)
    squares = np.pad(np.square(np.where(counts, numbers, 0.0) / scale), (0, missing)).reshape(stretches, -1)
    return np.stack(
        [scale * _smallest_sizes(squares, np.pad(g, (0, missing)).reshape(stretches, -1)) for g in groups],
        axis=1,
    )


def _smallest_sizes(squares: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of each row, the root of the smallest mean of a group in it; zero without any that is known."""
    squares = np.where(known, squares, 0.0)
    least = _smallest_means(squares, known, (-1, _SIDE_BY_SIDE), 2)
    for apart in _APART:
        least = np.minimum(least, _smallest_means(squares, known, (-1, apart), 1))
    return np.where(np.isfinite(least), np.sqrt(least), 0.0)


def _smallest_means(
    squares: NDArray[np.float64], known: NDArray[np.bool_], shape: tuple[int, int], axis: int
) -> NDArray[np.float64]:
    """For each row the smallest mean of its groups, along an axis of what it is cut into; infinity without any."""
    more = (0, 0), (0, -squares.shape[1] % shape[1])
    sums = np.pad(squares, more).reshape(len(squares), *shape).sum(axis=axis)
    counts = np.pad(known, more).reshape(len(squares), *shape).sum(axis=axis)
    means = np.divide(sums, counts, out=np.full(sums.shape, np.inf), where=counts > 0)
    return np.asarray(means.min(axis=1))


def root_mean_square(numbers: NDArray[np.float64]) -> float:
    """That of the finite ones, without overflow; 0 when there are none."""
    finite = numbers if np.isfinite(numbers).all() else numbers[np.isfinite(numbers)]
    scale = float(max(finite.max(), -finite.min())) if finite.size else 0.0
    if scale <= 0:
        return 0.0
    shares = finite / scale
    return scale * math.sqrt(float(np.square(shares).mean()))
