"""The lines of the host that launch a kernel, and those that set the variables of its launch.

Takes the text of a file, gives lines for the report: the model may not change them, but sees where its grid comes from.
Reads text, not types: a line that it misses is only not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hipscope.analysis.source.syntax import KernelSyntax

_MOST_LAUNCHES = 3
_LONGEST = 160


def host_lines(source: bytes, kernel: KernelSyntax) -> tuple[str, ...]:
    """At most three launches with what sets their grid and workgroup, in the order of the file."""
    lines = source.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    name = re.escape(kernel.name)
    launch = re.compile(
        rf"\b{name}\s*(?:<[^<>;]*>)?\s*<<<(?P<chevron>.*)|hipLaunchKernelGGL\s*\(\s*\(?{name}\b(?P<macro>.*)"
    )
    own = range(kernel.span.line - 1, kernel.span.end_line)
    wanted: dict[int, None] = {}
    found = [(n, m) for n, line in enumerate(lines) if n not in own and (m := launch.search(line))]
    for number, match in found[:_MOST_LAUNCHES]:
        configuration = (match["chevron"] or match["macro"] or "").partition(">>>")[0]
        for setter in _setters(lines[:number], set(re.findall(r"[A-Za-z_]\w*", configuration))):
            wanted[setter] = None
        wanted[number] = None
    return tuple(f"{n + 1}| {lines[n].strip()[:_LONGEST]}" for n in sorted(wanted) if n not in own)


def _setters(before: Sequence[str], names: set[str]) -> Iterator[int]:
    """For each name the last line in front of the launch that declares or sets it."""
    for name in sorted(names):
        sets = re.compile(
            rf"\b(?:dim3|auto|(?:unsigned|const|int|size_t|u?int\d+_t|long)\b[\w\s]*?)\s+{name}\s*[=({{]"
        )
        found = [n for n, line in enumerate(before) if sets.search(line)]
        yield from [n for n in found[-1:] if "constexpr" not in before[n]]  # declarations show those
