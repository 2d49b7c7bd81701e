"""Arguments that differ together: for each two of them, each two of their values stand in one launch.

Takes a captured dispatch and the numbers that one of two programs compares with more often than the other, gives
kernarg segments. A branch behind two conditions is entered in no launch that changes one argument at a time.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble
from hipscope.accordo.trials.code_constants import Named, compared_in
from hipscope.accordo.trials.scalar_arguments import Number, numbers_of

_FEW_NUMBERS, _FEW_VALUES, _FEW_NAMED = 8, 7, 3
_MOST_ROWS, _CHOICES = 10, 400
_SMALL = 8
_MOST_SMALL = 64  # of what stands for a small integer
_ALTERNATING = 0x5555_5555_5555_5555


@dataclass(frozen=True)
class CrossedLaunch:
    """One launch: its arguments in words, its kernarg segment, and which of two draws its inputs are."""

    label: str
    kernarg: bytes
    draw: int


def other_conditions(candidate: Path, original: Path, objdump: Path, kernel: str) -> Named | None:
    """What one of the codes compares with more often than the other; None where they compare with the same."""
    own, known = (disassemble(path, objdump, kernel) for path in (candidate, original))
    if not own or not known:
        return None
    (floats, integers), (other_floats, other_integers) = compared_in(own), compared_in(known)
    named = Named(
        frozenset(x for x in {*floats, *other_floats} if floats[x] != other_floats[x]),
        frozenset(n for n in {*integers, *other_integers} if integers[n] != other_integers[n]),
    )
    return named if named or _branches(own) != _branches(known) else None


def _branches(code: Sequence[AssemblyInstruction]) -> Counter[str]:
    names = (one.mnemonic for one in code)
    return Counter(name for name in names if "_cmp" in name or "cndmask" in name or "cselect" in name)


def crossed_arguments(
    dispatch: CapturedDispatch, types: Sequence[str], conditions: Named, wide: Sequence[str] = ()
) -> list[CrossedLaunch]:
    """The launches. `wide` are the labels of 64-bit arguments that may have any bits."""
    kernarg = dispatch.kernarg()
    numbers = [n for n in numbers_of(dispatch, types) if n.declared][:_FEW_NUMBERS]
    values = [_values(n, conditions, any_bits=n.label in wide) for n in numbers]
    found = []
    for row in _rows([*map(len, values), 2]):
        changed = bytearray(kernarg)
        told = []
        for number, listed, at in zip(numbers, values, row[:-1], strict=True):
            if at:
                changed[number.offset : number.offset + number.size] = number.encoded(listed[at])
                told.append(f"{number.label} {listed[at]:g}")
        inputs = ("inputs of many kinds", "other inputs of many kinds")[row[-1]]
        found.append(CrossedLaunch(", ".join([*told, inputs]), bytes(changed), row[-1]))
    return found


def _values(number: Number, conditions: Named, *, any_bits: bool) -> list[float]:
    """The recorded value first."""
    was = number.value
    if number.kind == "bool":
        return [was, 1 - was]
    if number.kind == "float":
        named = [x * 1.01 for x in sorted(conditions.floats, key=abs) if x and abs(x) < 1e6][:_FEW_NAMED]
        return _each([was, -was or -0.7, 2.3 * abs(was) + 1.3, 0.0, 1.0, *named])
    small = abs(was) <= _SMALL
    most = _MOST_SMALL if small else was - 1
    named = [n + d for n in sorted(conditions.integers) for d in (0, 1) if 2 < n + d <= most]
    if any_bits:
        return _each([was, 0, int(was) + (5 << 32), int(was) ^ _ALTERNATING, *named[:_FEW_NAMED]])
    if small:
        below = [-1] if number.element.name.startswith("int") else []
        return _each([was, 1, 0, *below, *named[-_FEW_NAMED:], 2])
    return _each([was, was - 1, *named[-_FEW_NAMED:], 1])


def _each(values: Sequence[float]) -> list[float]:
    return list(dict.fromkeys(values))[:_FEW_VALUES]


def _rows(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Choices in which each two other values of two columns meet, as far as few rows go: the first ones before others.

    With the recorded value, which is the first of each column, any other is tried elsewhere.
    """
    generator = np.random.default_rng(0xC805)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    left = {
        (a, b, x, y): 1 / (x * y) for a, b in pairs for x in range(1, sizes[a]) for y in range(1, sizes[b])
    }
    yield tuple(0 for _ in sizes)
    for _ in range(1, _MOST_ROWS):
        if not left:
            return
        rows = [tuple(int(generator.integers(size)) for size in sizes) for _ in range(_CHOICES)]
        best = max(rows, key=lambda row: sum(left.get((a, b, row[a], row[b]), 0.0) for a, b in pairs))
        for a, b in pairs:
            left.pop((a, b, best[a], best[b]), None)
        yield best
