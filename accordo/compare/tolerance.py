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
_REDUCTION_FACTOR = 4.0  # k in k * sqrt(n) * eps
_SPREAD_FACTOR = 8.0


@dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= absolute + relative * |expected|; both zero: bit for bit (and -0 is not 0)."""

    relative: float = 0.0
    absolute: float = 0.0

    @property
    def exact(self) -> bool:
        """No difference at all is allowed."""
        return self.relative == 0 and self.absolute == 0


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
    size: Callable[[], float],
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
    return Tolerance(relative, max(own, _SPREAD_FACTOR * spread))


def size_of_smallest(numbers: NDArray[np.float64], members: int) -> float:
    """The root mean square, in an array of structures with so many numbers that of the smallest member."""
    whole = len(numbers) - len(numbers) % members
    if members == 1 or whole == 0:
        return root_mean_square(numbers)
    return min(root_mean_square(member) for member in numbers[:whole].reshape(-1, members).T)


def root_mean_square(numbers: NDArray[np.float64]) -> float:
    """That of the finite ones, without overflow; 0 when there are none."""
    finite = numbers if np.isfinite(numbers).all() else numbers[np.isfinite(numbers)]
    scale = float(max(finite.max(), -finite.min())) if finite.size else 0.0
    if scale <= 0:
        return 0.0
    shares = finite / scale
    return scale * math.sqrt(float(np.square(shares).mean()))
