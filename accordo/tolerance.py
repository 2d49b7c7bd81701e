"""How far a floating-point result may be from the reference, by element type.

Integers and bytes: not at all. Floats: a relative part by type (more where many values are added up in an unknown
order), and an absolute part scaled to the size of the output itself, so that tiny outputs cannot hide behind it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dtypes import Element

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


def tolerance_for(
    element: Element,
    expected: NDArray[np.float64],
    *,
    terms: int = 1,
    spread: float = 0.0,
    user: float | None = None,
) -> Tolerance:
    """The tolerance of one piece of output.

    `terms` is how many values may have been added up into one element, `spread` the largest absolute difference
    between two correct runs of the reference (atomics in another order), `user` a relative tolerance from the
    configuration that replaces the one of the type.
    """
    if element.kind != "float":
        return EXACT
    relative = user if user is not None else _RELATIVE[element.name]
    if terms > 1:
        relative = max(relative, _REDUCTION_FACTOR * math.sqrt(terms) * element.epsilon)
    finite = expected[np.isfinite(expected)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    rms = scale * math.sqrt(float(np.mean((finite / scale) ** 2))) if scale > 0 else 0.0
    return Tolerance(relative, max(relative * 0.1 * rms, _SPREAD_FACTOR * spread))
