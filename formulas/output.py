"""Compares what a program printed with and without a rewrite; what times it took may differ.

Takes texts, gives what differs in words, or the lines that need not be equal. No project, no runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

_NUMBER = re.compile(r"([-+]?(?<![\w.])\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")


def output_difference(before: str, after: str, ignored: Sequence[str]) -> str | None:
    """The first line of output that differs, in words, or None. Lines that match an ignored pattern do not count."""
    old, new = _kept(before, ignored), _kept(after, ignored)
    if old == new:
        return None
    was, now = next((a, b) for a, b in zip_longest(old, new, fillvalue="") if a != b)
    return (
        f"The program's output changes: `{now.strip()}` instead of `{was.strip()}`. If it may differ, name it in "
        "optimize.ignore_output in hipscope.toml."
    )


def lines_that_vary(before: str, again: str, after: str, ignored: Sequence[str]) -> tuple[str, ...] | None:
    """The lines of `before` of which `after` differs only in numbers that also differ in `again`.

    `again` is the output of the same program, run once more. None if anything else differs in `after`.
    """
    texts = [_kept(text, ignored) for text in (before, again, after)]
    if len({len(lines) for lines in texts}) > 1:
        return None
    found = []
    for old, other, new in zip(*texts, strict=True):
        if old == new:
            continue
        old_parts, other_parts, new_parts = (_NUMBER.split(line) for line in (old, other, new))
        words = [" ".join("".join(parts[::2]).split()) for parts in (old_parts, other_parts, new_parts)]
        numbers = [parts[1::2] for parts in (old_parts, other_parts, new_parts)]
        if len(set(words)) > 1 or len({len(n) for n in numbers}) > 1:
            return None
        if any(a != c and a == b for a, b, c in zip(*numbers, strict=True)):
            return None
        found.append(old.strip())
    return tuple(found)


def _kept(text: str, ignored: Sequence[str]) -> list[str]:
    patterns = [re.compile(p) for p in ignored]
    return [line for line in text.splitlines() if not any(p.search(line) for p in patterns)]
