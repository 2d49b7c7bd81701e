"""Compares what a program printed with and without a rewrite; what times it took may differ.

Takes texts, gives what differs in words, or the lines that need not be equal. No project, no runs. A number that
changes by itself is held to what it can be: of the size of a time or a rate that was seen, or close to a sum. An error
that is printed is a difference of nearly equal numbers: what rounds them otherwise changes more of its digits.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from hipscope.accordo.compare.other_rounding import TIMES

# `inf` is a number: of data in a second it says that the clock had not moved.
_NUMBER = re.compile(r"([-+]?(?<![\w.])(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf(?!\w)))")
_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.]?\d|[a-zA-Z_])")
_NEARLY_EQUAL = 1e-3  # a time differs more from run to run, a sum in another order less
_SPREADS = 100  # of nearly equal numbers: as far away as this many times what they differ by
OF_ERRORS = 1e-2  # of a printed error may change where results may be rounded otherwise
_ERROR = re.compile(
    r"(?<![a-z])(?:err|errors?|rmse|mse|rms|residuals?|deviations?|diff|differences?)(?![a-z])", re.I
)
# A norm is an error where it is small: that of a result is one, too, and may not change by as much.
_NORM = re.compile(r"(?<![a-z0-9])l(?:1|2|inf)[ _-]?norms?(?![a-z])", re.I)
_SMALL_NORM = 1e-3
# Of a number what other roundings may change where it says something, and the most that a rewrite may.
_MOST_MOVED, _MOST_OF_ERRORS = 0.1, 10.0
_LARGER = 10  # of all others: as large as this many times the largest
# Of what its own words call a time: a run whose launches are timed by the model takes the host many times as long.
_LARGER_TIME = 1000
_TIME = re.compile(r"(?<![a-z])(?:times?|timing|elapsed|duration)(?![a-z])", re.I)  # before the number
_UNIT = re.compile(r"\s*\(?(?:[mun]?secs?|[mun]?s|seconds?)(?![a-z])", re.I)  # right behind it
# Of data or operations in a second, behind the number or in parentheses before it. Metres in a second are a result.
_COUNTED = r"(?:[kmgt]i?)?(?:b(?:it|yte)?s?|flops?|ops?|elem(?:ent)?s?|items?|iter(?:ation)?s?)"
_RATE = rf"{_COUNTED}(?: ?/ ?| per )s(?:ec(?:ond)?)?|[kmgt]flops"
_RATE_BEHIND = re.compile(rf"\s*\(?(?:{_RATE})(?![a-z])", re.I)
_RATE_BEFORE = re.compile(rf"[(\[](?:{_RATE})[)\]]\s*[:=]?\s*$", re.I)


def output_difference(before: str, after: str, ignored: Sequence[str]) -> str | None:
    """The first line that differs in more than numbers, else the first that differs, in words; None when all are equal.

    Lines that match an ignored pattern do not count.
    """
    old, new = _kept(before, ignored), _kept(after, ignored)
    if old == new:
        return None
    different = [(a, b) for a, b in zip_longest(old, new, fillvalue="") if a != b]
    # Beside `PASS` that is now `FAIL` a time that changes from run to run says nothing.
    worded = next((p for p in different if _NUMBER.split(p[0])[::2] != _NUMBER.split(p[1])[::2]), None)
    if worded is not None and _without_numbers(old) == _without_numbers(new):
        return (
            f"The program prints its lines in another order: `{worded[1].strip()}` where `{worded[0].strip()}` was. If "
            "threads of it print them, name those lines in optimize.ignore_output in hipscope.toml."
        )
    return changed_line(*(worded or different[0]))


def with_earlier_lines(output: str, file: str, before: bytes, after: bytes, printed: Collection[str]) -> str:
    """The output with a rewrite, with the numbers (`file:240`, of `__LINE__`) that lines of its file had before.

    `printed` are lines that the program prints without the rewrite: those stay as they are, and so do numbers of lines
    that the rewrite wrote.
    """
    if file not in output:
        return output
    earlier = _earlier_lines(before.splitlines(), after.splitlines())

    def translated(line: str) -> str:
        if file not in line or line in printed:
            return line
        return _INTEGER.sub(lambda found: str(earlier.get(int(found[0]), found[0])), line)

    return "\n".join(translated(line) for line in output.split("\n"))


def _earlier_lines(before: Sequence[bytes], after: Sequence[bytes]) -> Mapping[int, int]:
    """Numbers (from 1) of the lines behind a rewrite's first change that are as they were, and what they were."""
    blocks = difflib.SequenceMatcher(None, before, after).get_matching_blocks()
    return {b + n: a + n for a, b, size in blocks if a != b for n in range(1, size + 1)}


def _without_numbers(lines: Sequence[str]) -> list[str]:
    """The lines without their numbers, in an order of their own."""
    return sorted(" ".join(_NUMBER.sub("", line).split()) for line in lines)


def changed_line(was: str, now: str) -> str:
    """A line of the output that differs, in words."""
    return (
        f"The program's output changes: `{now.strip()}` instead of `{was.strip()}`. If it may differ, name it in "
        "optimize.ignore_output in hipscope.toml."
    )


@dataclass(frozen=True)
class Varied:
    """Lines in which numbers change from run to run; `beyond` says which of them no such change explains, if any.

    `rounded` are other lines, in which numbers with decimals differ by no more than rounding does; `errors` those of
    them that print an error, which may differ more. `changed` is the first line with a number that is the same in all
    runs of the original, before and after.
    """

    lines: tuple[str, ...]
    beyond: str | None = None
    rounded: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    changed: tuple[str, str] | None = None

    @property
    def explained(self) -> bool:
        """Whether nothing else changes."""
        return self.beyond is None and self.changed is None


def lines_that_vary(
    originals: Sequence[str],
    after: str,
    ignored: Sequence[str],
    faster: float = 1.0,
    rounding: float = 0.0,
) -> Varied | None:
    """The lines in which `after` differs from the first of the originals only in numbers that change by themselves.

    `originals` are outputs of several runs of the same program, `faster` is how many times as fast `after` may be,
    `rounding` the relative difference that is one of rounding. None if more than numbers differ.
    """
    texts = [_kept(text, ignored) for text in (*originals, after)]
    if len({len(lines) for lines in texts}) > 1:
        return None
    found: list[str] = []
    rounded: list[str] = []
    errors: list[str] = []
    beyond: str | None = None
    changed: tuple[str, str] | None = None
    for lines in zip(*texts, strict=True):
        if lines[0] == lines[-1]:
            continue
        parts = [_NUMBER.split(line) for line in lines]
        if len({" ".join("".join(p[::2]).split()) for p in parts}) > 1 or len({len(p) for p in parts}) > 1:
            return None
        is_error = rounding > 0 and _is_error(lines[0])
        rounds = varies = False
        for place, (*seen, now) in enumerate(zip(*(p[1::2] for p in parts), strict=True)):
            if now in seen:
                varies = varies or now != seen[0]
                continue
            few = _few_digits(seen[0]) if _is_rate(parts[0], place) else None
            if len(set(seen)) == 1 and few is None:
                if not _rounded(seen[0], now, max(rounding, OF_ERRORS) if is_error else rounding):
                    changed = changed or (lines[0], lines[-1])
                rounds = True
                continue
            varies = True
            is_time = _TIME.search(parts[0][2 * place]) or _UNIT.match(parts[0][2 * place + 2])
            larger = _LARGER_TIME if is_time else _LARGER
            sizes = [float(n) for n in seen] if few is None else few
            if beyond is None and not _may_be(sizes, float(now), faster * larger):
                beyond = f"`{lines[-1].strip()}`: {now}, where {len(seen)} runs of the original print {', '.join(seen)}"
        (found if varies or not rounds else errors if is_error else rounded).append(lines[0].strip())
    return Varied(tuple(found), beyond, tuple(rounded), tuple(errors), changed)


def settled_by_rounding(
    before: str, otherwise: Sequence[str], after: str, ignored: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """The output with a rewrite, with the numbers `before` where these differ as runs do that rounded `otherwise`; and
    the lines of these.

    An integer has to be the same. A result that other roundings change by more than a tenth, or an error by more than
    ten times itself, says nothing; nor may the rewrite change them by more.
    """
    texts = [text.splitlines() for text in (before, *otherwise, after)]
    patterns = [re.compile(p) for p in ignored]
    if not otherwise or len({len(lines) for lines in texts}) > 1:
        return after, ()
    settled: list[str] = []
    found: list[str] = []
    for was, *others, now in zip(*texts, strict=True):
        explained = was != now and not any(p.search(was) for p in patterns) and _by_rounding(was, others, now)
        settled.append(was if explained else now)
        if explained:
            found.append(was.strip())
    return "\n".join(settled) + after[len(after.rstrip("\n")) :], tuple(found)


def _by_rounding(was: str, others: Sequence[str], now: str) -> bool:
    parts = [_NUMBER.split(line) for line in (was, *others, now)]
    if len({tuple(p[::2]) for p in parts}) > 1:
        return False
    most = _MOST_OF_ERRORS if _is_error(was) else _MOST_MOVED
    for old, *seen, new in zip(*(p[1::2] for p in parts), strict=True):
        if old == new:
            continue
        moved = max(abs(float(n) - float(old)) for n in seen)
        limit = most * abs(float(old))
        if not any(mark in old for mark in ".eE") or not moved <= limit:
            return False
        if not abs(float(new) - float(old)) <= min(TIMES * moved, limit):
            return False
    return True


def _is_error(line: str) -> bool:
    """Whether a line prints how far a result is from another."""
    if _ERROR.search(line) is not None:
        return True
    return _NORM.search(line) is not None and all(abs(float(n)) < _SMALL_NORM for n in _NUMBER.findall(line))


def _is_rate(parts: Sequence[str], place: int) -> bool:
    """Whether a number of a line calls itself so much in a second; `parts` are words and numbers in turn."""
    before, behind = parts[2 * place], parts[2 * place + 2]
    return _RATE_BEHIND.match(behind) is not None or _RATE_BEFORE.search(before) is not None


def _few_digits(printed: str) -> tuple[float, float] | None:
    """Between what a number lies that is printed with so few digits that all runs may print the same; else None."""
    if "e" in printed.lower():
        return None
    number = float(printed)
    if number == math.inf:
        return 0.0, number
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return (number - half, number + half) if 2 * half > _NEARLY_EQUAL * abs(number) else None


def _rounded(seen: str, now: str, rounding: float) -> bool:
    """Whether two numbers as printed differ by rounding. Integers do not."""
    if not any(mark in seen for mark in ".eE"):
        return False
    old, new = float(seen), float(now)
    return abs(new - old) <= rounding * abs(old)


def _may_be(seen: Sequence[float], now: float, larger: float) -> bool:
    """Whether a number that was `seen` in several runs may be `now` in another one, at most so many times as large."""
    low, high = min(seen), max(seen)
    size = max(abs(low), abs(high))
    if not math.isfinite(now):
        return False
    if high - low <= _NEARLY_EQUAL * size:
        return low - _SPREADS * (high - low) <= now <= high + _SPREADS * (high - low)
    if (low >= 0 and now < 0) or (high <= 0 and now > 0):
        return False
    return abs(now) <= larger * size


def _kept(text: str, ignored: Sequence[str]) -> list[str]:
    patterns = [re.compile(p) for p in ignored]
    return [line for line in text.splitlines() if not any(p.search(line) for p in patterns)]
