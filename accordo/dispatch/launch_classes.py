"""How much of a kernel's launches was recorded: classes of launches, by shape, arguments and shared buffers.

Takes recorded dispatches; reads the list of all launches that the runtime keeps beside them. Gives counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipscope.accordo.dispatch.captured import CapturedDispatch

_LAUNCHES = "launches"


@dataclass(frozen=True)
class LaunchCoverage:
    """Numbers of launches and of their classes: those that were recorded, and all that the program made."""

    classes: int
    all_classes: int
    launches: int
    all_launches: int

    def __str__(self) -> str:
        """`4 of 4 classes, 4 of 21 launches`."""
        return (
            f"{self.classes} of {self.all_classes} classes, {self.launches} of {self.all_launches} launches"
        )


def launch_coverage(dispatches: Sequence[CapturedDispatch]) -> LaunchCoverage | None:
    """What part of all launches of their kernels the dispatches are; None where the recorder kept no list."""
    symbols, recorded = {d.kernel for d in dispatches}, {d.id for d in dispatches}
    rows: list[tuple[str, int]] = []  # class, number of the recorded launch or 0
    for folder in {d.directory.parent for d in dispatches}:
        try:
            text = (folder / _LAUNCHES).read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        for line in text.splitlines():
            symbol, launch_class, number = (*line.split(" "), "", "")[:3]
            if symbol in symbols and number.isdigit():
                rows.append((f"{symbol} {launch_class}", int(number)))
    seen = {launch_class for launch_class, number in rows if number in recorded}
    known = {launch_class for launch_class, _ in rows}
    return LaunchCoverage(len(seen), len(known), len(recorded), len(rows))
