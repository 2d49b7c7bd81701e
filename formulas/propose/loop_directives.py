"""Directives that stand before a loop, kept before it, so that a rewrite compiles in every configuration.

Takes a text before and after a rewrite, gives the text in which each loop pragma stands before its loop again. The
case is a loop under `#ifdef TUNED`, `#pragma unroll`, `#endif`: text behind `#endif` separates the pragma from its loop
where TUNED is defined, and a second pragma there is one too many.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(rb"\s*#\s*(\w+)")
_UNROLL = re.compile(rb"\s*#\s*pragma\s+(?:unroll|nounroll|clang\s+loop)\b")
_LOOP = re.compile(rb"(?:for|while|do)\b")
_OPENS = (b"if", b"ifdef", b"ifndef")


@dataclass(frozen=True)
class _Block:
    """The lines [start, end) of directives that hold loop pragmas and no code, with whole conditions.

    `pragmas` are lines behind the last condition. `statement` is the line of code that follows.
    """

    start: int
    end: int
    pragmas: int
    statement: int


def settled(before: bytes, after: bytes) -> bytes:
    """The text after a rewrite, each loop pragma before its loop, without the pragmas of loops that are gone."""
    if not _UNROLL.search(before) or before == after:
        return after
    old, new = before.split(b"\n"), after.split(b"\n")
    heads = dict(_loops_under_directives(old))
    lost = Counter(_orphans(new)) - Counter(_orphans(old))
    for text in lost:
        new = _moved(new, text, heads.get(text, b""), known=Counter(map(bytes.strip, old)))
    for block in reversed([*_blocks(new)]):
        new = _one_pragma_each(new, block)
    return b"\n".join(new)


def _loops_under_directives(lines: Sequence[bytes]) -> Iterator[tuple[tuple[bytes, ...], bytes]]:
    for block in _blocks(lines):
        yield _told(lines, block), lines[block.statement].strip()


def _orphans(lines: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
    """The directives of each block that no loop follows."""
    for block in _blocks(lines):
        if not _LOOP.match(lines[block.statement].strip()):
            yield _told(lines, block)


def _told(lines: Sequence[bytes], block: _Block) -> tuple[bytes, ...]:
    """The directives of a block without a pragma that a rewrite added behind its condition."""
    end = block.pragmas if block.pragmas > block.start else block.end
    return tuple(line.strip() for line in lines[block.start : end] if line.strip())


def _blocks(lines: Sequence[bytes]) -> Iterator[_Block]:
    """The blocks of a text, from its start."""
    bare = _COMMENTS.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), b"\n".join(lines)).split(b"\n")
    at = 0
    while at < len(bare):
        if not _DIRECTIVE.match(bare[at]):
            at += 1
            continue
        end = at
        while end < len(bare) and (not bare[end].strip() or _DIRECTIVE.match(bare[end])):
            end += 1
        start, pragmas = _whole_conditions(bare, at, end)
        if end < len(bare) and any(_UNROLL.match(line) for line in bare[start:end]):
            yield _Block(start, end, pragmas, end)
        at = end


def _whole_conditions(bare: Sequence[bytes], start: int, end: int) -> tuple[int, int]:
    """Where the part of directives [start, end) begins that opens and closes its own conditions and ends at `end`, and
    where its last condition ends (`start` where it has none).
    """
    depth, place, pragmas = 0, end, 0
    for number in range(end - 1, start - 1, -1):
        found = _DIRECTIVE.match(bare[number])
        kind = found[1] if found is not None else b""
        if kind == b"endif":
            depth += 1
            pragmas = max(pragmas, number + 1)
        elif kind in _OPENS:
            depth -= 1
        elif kind and depth == 0 and kind != b"pragma":
            break
        if depth < 0:
            break
        if depth == 0 and kind:
            place = number
    return place, max(pragmas, place)


def _moved(lines: list[bytes], text: tuple[bytes, ...], head: bytes, known: Counter[bytes]) -> list[bytes]:
    """The lines with these directives before the loop that they stood before, or before the one that took its place;
    without them where there is neither.
    """
    block = next(
        b for b in _blocks(lines) if _told(lines, b) == text and not _LOOP.match(lines[b.statement].strip())
    )
    kept = block.pragmas if block.pragmas > block.start else block.end
    directives, rest = lines[block.start : kept], [*lines[: block.start], *lines[kept:]]
    while directives and not directives[-1].strip():
        directives.pop()
    place = _loop_below(rest, block.start, head, known)
    if place is None:
        return rest
    return [*rest[:place], *directives, *rest[place:]]


def _loop_below(lines: Sequence[bytes], start: int, head: bytes, known: Counter[bytes]) -> int | None:
    """The line of the loop that directives belong to, above the pragmas that stand before it."""
    depth, fresh = 0, None
    for number in range(start, len(lines)):
        line = lines[number].strip()
        if _LOOP.match(line):
            if line == head:
                return _above_pragmas(lines, number)
            if fresh is None and line not in known:
                fresh = number
        depth += line.count(b"{") - line.count(b"}")
        if depth < 0:
            break
    return None if fresh is None else _above_pragmas(lines, fresh)


def _above_pragmas(lines: Sequence[bytes], number: int) -> int:
    while number and _UNROLL.match(lines[number - 1]):
        number -= 1
    return number


def _one_pragma_each(lines: list[bytes], block: _Block) -> list[bytes]:
    """The lines with a pragma behind the condition of a block as what holds otherwise: no loop takes two."""
    condition, behind = lines[block.start : block.pragmas], lines[block.pragmas : block.end]
    added = [line for line in behind if _UNROLL.match(line)]
    if not added or not any(_UNROLL.match(line) for line in condition) or _has_else(condition):
        return lines
    ending = next(n for n in range(len(condition) - 1, -1, -1) if _kind(condition[n]) == b"endif")
    otherwise = re.sub(rb"endif.*?(?=\r?$)", b"else", condition[ending])
    others = [line for line in behind if line not in added]
    changed = [*condition[:ending], otherwise, *added, *condition[ending:], *others]
    return [*lines[: block.start], *changed, *lines[block.end :]]


def _has_else(condition: Sequence[bytes]) -> bool:
    """Whether the last condition has an `#else` of its own, or another condition stands before it."""
    depth, opened = 0, 0
    for line in condition:
        kind = _kind(line)
        if kind in _OPENS:
            opened += depth == 0
            depth += 1
        elif kind == b"endif":
            depth -= 1
        elif kind == b"else" and depth == 1:
            return True
    return opened != 1


def _kind(line: bytes) -> bytes:
    found = _DIRECTIVE.match(line)
    return found[1] if found is not None else b""
