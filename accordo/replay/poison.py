"""What memory holds before a candidate runs, where the reference writes without reading first.

Takes the element types of the buffers, gives the bytes that each is filled with. A candidate may look at its old output
in a way that random bytes hardly ever show (`x + 0 * old` differs only where that is NaN or infinite), so runs take
turns with the fillings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hipscope.accordo.dispatch.element_types import Segment
from hipscope.analysis.source.number_types import BYTES, Element

Filling = Literal["random", "nan", "infinite", "zero"]


@dataclass(frozen=True)
class Poison:
    """`seed` makes the random bytes of LDS, scratch and registers, and those of buffers where these are random too."""

    seed: int
    filling: Filling = "random"

    @property
    def plain(self) -> Poison:
        """The same with random bytes only."""
        return Poison(self.seed)


POISONS = (
    Poison(0x1F2E3D4C), Poison(0x5A6978B7, "nan"), Poison(0x6C8E9CF5, "infinite"), Poison(0x3B9AC9FF, "zero"),
)  # fmt: skip
_INFINITY = {"fp64": "000000000000f07f", "fp32": "0000807f", "fp16": "007c", "bf16": "807f"}  # little-endian


def fill(poison: Poison, pieces: Mapping[int, tuple[Segment, ...]]) -> dict[int, bytes]:
    """For each buffer the bytes that it is filled with, repeated from its start; none for random ones.

    A buffer whose pieces are of several types is filled for the first of them that is a number. For integers "nan" has
    all bits set and "infinite" is the largest signed one.
    """
    if poison.filling == "random":
        return {}
    found = {}
    for index, segments in pieces.items():
        elements = [s.element for s in segments if s.element is not BYTES] or [BYTES]
        found[index] = _bytes(poison.filling, elements[0])
    return found


def _bytes(filling: Filling, element: Element) -> bytes:
    if filling == "zero":
        return b"\0"
    if filling == "nan":
        return b"\xff"  # a NaN of every width
    if element.kind == "float":
        return bytes.fromhex(_INFINITY[element.name])
    return b"\xff" * (element.size - 1) + b"\x7f"
