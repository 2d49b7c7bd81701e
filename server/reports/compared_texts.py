"""What the text of kernels adds to a comparison: which kernel was renamed, and which of its lines the time moved to.

Takes profiles and the texts that they were made from, where those are still there: a file that has changed since says
nothing. Likeness is difflib's ratio over the words of a definition, with the kernel's own name left out.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.reports.schema.compare import MovedLine
from hipscope.server.reports.schema.profile import Kernel, Report

_ALIKE = (
    0.75  # of the words of both; two kernels of one file that do different things have about half in common
)
_MOST_COMPARED = 40  # kernels of a side
_MOST_LINES = 3
_LEAST = 0.02  # of the kernel's time, that moves
_WORDS = re.compile(r"\w+|[^\w\s]")


class KernelTexts:
    """The definitions of the kernels of both profiles."""

    def __init__(self) -> None:
        self._files = SourceTexts()

    def of(self, report: Report, kernel: Kernel) -> tuple[str, ...] | None:
        """The lines of a kernel's definition as it was profiled; None where they are not known any more."""
        place = kernel.definition
        if place is None or (wanted := report.sources.get(place.file)) is None:
            return None
        data = self._files.read(place.file)
        if data is None or self._files.digest(place.file) != wanted:
            return None
        lines = data.decode("utf-8", "replace").splitlines()
        return tuple(lines[place.start_line - 1 : place.end_line])


def renamed_kernels(
    texts: KernelTexts, base: tuple[Report, Sequence[Kernel]], head: tuple[Report, Sequence[Kernel]]
) -> dict[str, str]:
    """The mangled name in the base by that in the head, of kernels whose texts are alike, the most alike first."""
    old, new = (
        [
            (kernel.mangled, [word for word in _WORDS.findall("\n".join(text)) if word != kernel.base_name])
            for kernel in kernels[:_MOST_COMPARED]
            if (text := texts.of(report, kernel)) is not None
        ]
        for report, kernels in (base, head)
    )
    ratios = sorted(
        (
            (difflib.SequenceMatcher(None, was, now, autojunk=False).ratio(), before, after)
            for before, was in old
            for after, now in new
        ),
        reverse=True,
    )
    found: dict[str, str] = {}
    for ratio, before, after in ratios:
        if ratio >= _ALIKE and after not in found and before not in found.values():
            found[after] = before
    return found


def moved_lines(
    texts: KernelTexts, base: tuple[Report, Kernel], head: tuple[Report, Kernel]
) -> tuple[MovedLine, ...]:
    """The lines of a definition whose time changed most, the largest change first."""
    (was, old), (now, new) = (_timed(texts, *side) for side in (base, head))
    if was is None or now is None or old is None or new is None:
        return ()
    pairs: list[tuple[int | None, int | None]] = []
    matcher = difflib.SequenceMatcher(
        None, [line.strip() for line in was], [line.strip() for line in now], autojunk=False
    )
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal" or (
            kind == "replace" and b - a == d - c
        ):  # line by line: each is another text of the same
            pairs += zip(range(a, b), range(c, d), strict=True)
        else:
            pairs += [(line, None) for line in range(a, b)] + [(None, line) for line in range(c, d)]
    first, then = base[1].start_line or 1, head[1].start_line or 1
    least = _LEAST * max(base[1].time_ns or 0.0, head[1].time_ns or 0.0)
    moved = [
        MovedLine(
            None if before is None else first + before,
            None if after is None else then + after,
            0.0 if before is None else old.get(first + before, 0.0),
            0.0 if after is None else new.get(then + after, 0.0),
        )
        for before, after in pairs
    ]
    moved = [line for line in moved if abs(line.head_ns - line.base_ns) > least]
    return tuple(sorted(moved, key=lambda line: -abs(line.head_ns - line.base_ns))[:_MOST_LINES])


def _timed(
    texts: KernelTexts, report: Report, kernel: Kernel
) -> tuple[tuple[str, ...] | None, dict[int, float] | None]:
    """The lines of the definition, and the nanoseconds of each line of its file by number."""
    if kernel.time_ns is None or kernel.sampled:
        return None, None
    times: dict[int, float] = {}
    for line in kernel.lines:
        if line.file == kernel.file:
            times[line.line] = times.get(line.line, 0.0) + line.share * kernel.time_ns
    return texts.of(report, kernel), times
