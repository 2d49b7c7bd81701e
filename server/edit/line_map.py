"""Old lines of a text to new ones, and what names a text. Text goes in, plain numbers come out.

Light: reports and views on the command line read it without the protocol's types.
"""

from __future__ import annotations

import bisect
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

_MOST_PAIRS = 100_000  # of lines that are compared each with each; more would hold up the editor


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends, as LSP counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class LineMap:
    """Where the lines of an old text are in a new one. Lines count from 1.

    A line that only changed its white space keeps its place; a line that was changed otherwise or deleted has none.
    `head` and `tail` lines at the ends are the same to the letter; all lines of one text are its head.
    """

    def __init__(self, old: str, new: str) -> None:
        self._before, self._after = split_lines(old), split_lines(new)
        self.head = common_head(self._before, self._after)
        self.tail = common_head(self._before[self.head :][::-1], self._after[self.head :][::-1])
        self._forward = _match(self._before, self._after, self.head, self.tail)

    def to_new(self, line: int) -> int | None:
        """The new number of an old line, or None when it is gone or changed."""
        return self._forward.get(line)

    def changes(self) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
        """Each run of lines that was replaced: where it begins in the old text, its old lines and its new ones."""
        old = new = 1
        ends = (len(self._before) + 1, len(self._after) + 1)
        for a, b in [*self._forward.items(), ends]:
            if (a, b) != (old, new):
                yield old, self._before[old - 1 : a - 1], self._after[new - 1 : b - 1]
            old, new = a + 1, b + 1

    def line_before(self, line: int) -> str:
        """The old line above that one; "" above the first."""
        return self._before[line - 2] if line > 1 else ""


def _match(before: Sequence[str], after: Sequence[str], head: int, tail: int) -> dict[int, int]:
    """Line numbers (from 1) of equal lines, in order. The ends are known: a local edit costs next to nothing."""
    found = {n: n for n in range(1, head + 1)}
    old = [_words(line) for line in before[head : len(before) - tail]]
    new = [_words(line) for line in after[head : len(after) - tail]]
    found |= {head + a + 1: head + b + 1 for a, b in _pairs(old, new)}
    rest, there = len(before) - tail, len(after) - tail
    return found | {rest + n: there + n for n in range(1, tail + 1)}


def _pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of equal lines, in order."""
    if len(old) * len(new) <= _MOST_PAIRS:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        blocks = matcher.get_matching_blocks()
        return [(a + n, b + n) for a, b, size in blocks for n in range(size)]
    found: list[tuple[int, int]] = []
    a = b = 0
    for x, y in [*_anchors(old, new), (len(old), len(new))]:
        ahead = common_head(old[a:x], new[b:y])
        back = common_head(old[a + ahead : x][::-1], new[b + ahead : y][::-1])
        found += [(a + n, b + n) for n in range(ahead)]
        inside, there = old[a + ahead : x - back], new[b + ahead : y - back]
        if 0 < len(inside) * len(there) <= _MOST_PAIRS:
            found += [(a + ahead + i, b + ahead + j) for i, j in _pairs(inside, there)]
        found += [(x - n, y - n) for n in range(back, 0, -1)]
        if x < len(old):
            found.append((x, y))
        a, b = x + 1, y + 1
    return found


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run, in order, of lines that stand once in either text (a patience diff)."""
    times, there = Counter(old), Counter(new)
    place = {line: n for n, line in enumerate(new) if there[line] == 1}
    lines = [(n, place[line]) for n, line in enumerate(old) if times[line] == 1 and line in place]
    ends: list[int] = []
    heads: list[int] = []
    before: list[int] = []
    for index, (_, at) in enumerate(lines):
        length = bisect.bisect_left(ends, at)
        before.append(heads[length - 1] if length else -1)
        if length == len(ends):
            ends.append(at)
            heads.append(index)
        else:
            ends[length], heads[length] = at, index
    chain = []
    index = heads[-1] if heads else -1
    while index >= 0:
        chain.append(lines[index])
        index = before[index]
    return chain[::-1]


@lru_cache(maxsize=1 << 16)  # while somebody types, nearly all lines are those of the text before
def _words(line: str) -> str:
    return " ".join(line.lstrip("\ufeff").split())


_AT_ONCE = 512  # lines that are compared before single ones


def common_head(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    most = min(len(one), len(other))
    for begin in range(0, most, _AT_ONCE):
        end = min(begin + _AT_ONCE, most)
        if one[begin:end] != other[begin:end]:
            return next(i for i in range(begin, end) if one[i] != other[i])
    return most


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, as reports and edits name it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
