"""Compares what a program printed with and without a rewrite; what times it took may differ.

Takes texts, gives what differs in words, or the lines that need not be equal. No project, no runs. A number that
changes by itself is held to what it can be: of the size of a time or a rate that was seen, or close to a sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

_NUMBER = re.compile(r"([-+]?(?<![\w.])\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")
_NEARLY_EQUAL = 1e-3  # a time differs more from run to run, a sum in another order less
_SPREADS = 100  # of nearly equal numbers: as far away as this many times what they differ by
_LARGER = 10  # of all others: as large as this many times the largest


def output_difference(before: str, after: str, ignored: Sequence[str]) -> str | None:
    """The first line that differs in more than numbers, else the first that differs, in words; None when all are equal.

    Lines that match an ignored pattern do not count.
    """
    old, new = _kept(before, ignored), _kept(after, ignored)
    if old == new:
        return None
    different = [(a, b) for a, b in zip_longest(old, new, fillvalue="") if a != b]
    # Beside `PASS` that is now `FAIL` a time that changes from run to run says nothing.
    worded = (pair for pair in different if _NUMBER.split(pair[0])[::2] != _NUMBER.split(pair[1])[::2])
    was, now = next(worded, different[0])
    return (
        f"The program's output changes: `{now.strip()}` instead of `{was.strip()}`. If it may differ, name it in "
        "optimize.ignore_output in hipscope.toml."
    )


@dataclass(frozen=True)
class Varied:
    """Lines in which numbers change from run to run; `beyond` says which of them no such change explains, if any.

    `rounded` are other lines, in which numbers with decimals differ by no more than rounding does.
    """

    lines: tuple[str, ...]
    beyond: str | None = None
    rounded: tuple[str, ...] = ()


def lines_that_vary(
    originals: Sequence[str],
    after: str,
    ignored: Sequence[str],
    faster: float = 1.0,
    rounding: float = 0.0,
) -> Varied | None:
    """The lines in which `after` differs from the first of the originals only in numbers that change by themselves.

    `originals` are outputs of several runs of the same program, `faster` is how many times as fast `after` may be,
    `rounding` the relative difference that is one of rounding. None if anything else differs.
    """
    texts = [_kept(text, ignored) for text in (*originals, after)]
    if len({len(lines) for lines in texts}) > 1:
        return None
    found: list[str] = []
    rounded: list[str] = []
    beyond: str | None = None
    for lines in zip(*texts, strict=True):
        if lines[0] == lines[-1]:
            continue
        parts = [_NUMBER.split(line) for line in lines]
        if len({" ".join("".join(p[::2]).split()) for p in parts}) > 1 or len({len(p) for p in parts}) > 1:
            return None
        rounds = varies = False
        for *seen, now in zip(*(p[1::2] for p in parts), strict=True):
            if now in seen:
                varies = varies or now != seen[0]
                continue
            if len(set(seen)) == 1:
                if not _rounded(seen[0], now, rounding):
                    return None
                rounds = True
                continue
            varies = True
            if beyond is None and not _may_be([float(n) for n in seen], float(now), faster):
                beyond = f"`{lines[-1].strip()}`: {now}, where {len(seen)} runs of the original print {', '.join(seen)}"
        (rounded if rounds and not varies else found).append(lines[0].strip())
    return Varied(tuple(found), beyond, tuple(rounded))


def _rounded(seen: str, now: str, rounding: float) -> bool:
    """Whether two numbers as printed differ by rounding. Integers do not."""
    if not any(mark in seen for mark in ".eE"):
        return False
    old, new = float(seen), float(now)
    return abs(new - old) <= rounding * abs(old)


def _may_be(seen: Sequence[float], now: float, faster: float) -> bool:
    """Whether a number that was `seen` in several runs may be `now` in another one."""
    low, high = min(seen), max(seen)
    size = max(abs(low), abs(high))
    if not math.isfinite(now):
        return False
    if high - low <= _NEARLY_EQUAL * size:
        return low - _SPREADS * (high - low) <= now <= high + _SPREADS * (high - low)
    if (low >= 0 and now < 0) or (high <= 0 and now > 0):
        return False
    return abs(now) <= _LARGER * size * faster


def _kept(text: str, ignored: Sequence[str]) -> list[str]:
    patterns = [re.compile(p) for p in ignored]
    return [line for line in text.splitlines() if not any(p.search(line) for p in patterns)]
