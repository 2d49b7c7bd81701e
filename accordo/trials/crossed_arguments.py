"""Arguments that differ together: all of one kind in one launch, and for each two of them each two of their values.

Takes a captured dispatch and the numbers that one of two programs compares with more often than the other, gives
kernarg segments. A branch behind two conditions is entered in no launch that changes one argument at a time. And small
integers of which the data holds the same, such as the level of a search: with another argument alone, a kernel would
find nothing to do.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.access_map import READ, WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble
from hipscope.accordo.dispatch.replaced_buffers import write_replacement
from hipscope.accordo.dispatch.writer import write_dispatch
from hipscope.accordo.trials.code_constants import Named, compared_in
from hipscope.accordo.trials.other_launch import groups_of
from hipscope.accordo.trials.scalar_arguments import Number, numbers_of
from hipscope.analysis.source.number_types import Element

_FEW_NUMBERS, _FEW_VALUES, _FEW_NAMED = 8, 7, 3
_MOST_ROWS, _CHOICES = 20, 400
_OF_CONDITIONS = 4.0  # how much more a pair counts of which the codes compare with both
_SMALL = 8
_MOST_SMALL = 64  # of what stands for a small integer
_NOT_ZERO = 0.7  # the size of a float that was 0
_FEW_MOVED = 2
_FEW_PAIRS = 5
_OTHERS = (67, (1 << 16) + 67)  # beyond 6 bits, and beyond 16
_LARGEST = 16 << 20  # bytes of a buffer
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
    asked = [_asked(n, listed, conditions) for n, listed in zip(numbers, values, strict=True)]
    for row in _rows([*map(len, values), 2], _together(dispatch, numbers, values), [*asked, frozenset()]):
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
        return _each([was, -was or -_NOT_ZERO, 2.3 * abs(was) + 1.3, 0.0, 1.0, *named])
    small = abs(was) <= _SMALL
    most = _MOST_SMALL if small else was - 1
    named = [n + d for n in sorted(conditions.integers) for d in (0, 1) if 1 < n + d <= most]
    if any_bits:
        return _each([was, 0, int(was) + (5 << 32), int(was) ^ _ALTERNATING, *named[:_FEW_NAMED]])
    if small:
        below = [-1] if number.element.name.startswith("int") else []
        first = [2] if 2 in conditions.integers else []
        return _each([was, *first, 1, 0, *below, *named[-_FEW_NAMED:], 2])
    # A modulus, a mask or a seed, unlike a size, may have its highest bit.
    high = [int(was) | 1 << 31] if number.size == 4 and number.element.name.startswith("uint") else []
    # A part of a whole that both codes name, such as 255, may be larger than what was recorded.
    above = [n for n in sorted(conditions.integers) if was < n <= 2 * was][:1]
    return _each([was, *high, was - 1, *above, *named[:1], *named[1 - _FEW_NAMED :], 1])


def _asked(number: Number, values: Sequence[float], conditions: Named) -> frozenset[int]:
    """Which of the values the codes compare with, by their places; of floats those just beyond."""
    if number.kind == "float":
        known = {x * 1.01 for x in conditions.floats} | (conditions.floats & {0.0, 1.0})
    else:
        known = set(map(float, conditions.integers))
    return frozenset(at for at, value in enumerate(values) if at and value in known)


def _each(values: Sequence[float]) -> list[float]:
    return list(dict.fromkeys(values))[:_FEW_VALUES]


def _together(
    dispatch: CapturedDispatch, numbers: Sequence[Number], values: Sequence[Sequence[float]]
) -> Iterator[tuple[int, ...]]:
    """Choices for conditions on more than two: all floats of the other sign with flags on, and off; small integers by
    turns as large as the conditions ask for and small, with floats that they name; small integers of both signs by
    turns; lists of one element, also with all floats of the other sign or 1. The last column is the draw.
    """
    flags = [n.kind == "bool" or (n.kind == "integer" and abs(n.value) <= _SMALL) for n in numbers]
    for draw, on in enumerate((True, False)):
        wanted = [
            -n.value or -_NOT_ZERO if n.kind == "float" else (n.value or 1) * on if flag else n.value
            for n, flag in zip(numbers, flags, strict=True)
        ]
        yield *_places(values, wanted), draw
    small = [
        k for k, (n, flag) in enumerate(zip(numbers, flags, strict=True)) if flag and n.kind == "integer"
    ]
    for draw, few in enumerate(((), small[1::2], small[::2])):
        wanted = [
            listed[-1 - draw % 2] if n.kind == "float" else n.value
            for n, listed in zip(numbers, values, strict=True)
        ]
        for k in small:
            wanted[k] = 1 if k in few else max(values[k])
        yield *_places(values, wanted), draw % 2
    for draw, below in enumerate((small[::2], small[1::2])) if len(small) > 1 else ():
        wanted = [(-1 if k in below else 1) if k in small else n.value for k, n in enumerate(numbers)]
        yield *_places(values, wanted), draw
    groups = groups_of(dispatch)
    bounds = {k for k, n in enumerate(numbers) for g, w in zip(groups, dispatch.workgroup, strict=True)
              if (g - 1) * w < n.value <= g * w}  # fmt: skip
    for sign in (1, -1, None):
        wanted = [
            1
            if n.kind == "integer" and not flag and k not in bounds
            else (1.0 if sign is None else sign * n.value)
            if n.kind == "float"
            else n.value
            for k, (n, flag) in enumerate(zip(numbers, flags, strict=True))
        ]
        yield *_places(values, wanted), 1


def _places(values: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[int]:
    """Where each value stands in its column; that of the recorded one where it does not."""
    return [listed.index(v) if v in listed else 0 for listed, v in zip(values, wanted, strict=True)]


def _rows(
    sizes: Sequence[int], first: Iterable[tuple[int, ...]], asked: Sequence[frozenset[int]]
) -> Iterator[tuple[int, ...]]:
    """Two values that are `asked` for, all else as recorded, for a few; the `first` ones; choices in which each two
    other values of two columns meet, as far as few rows go: those asked for in both columns, and those that are
    listed first, before others.

    With the recorded value, which is the first of each column, any other is tried elsewhere.
    """
    generator = np.random.default_rng(0xC805)
    pairs = list(itertools.combinations(range(len(sizes)), 2))
    left = {
        (a, b, x, y): _OF_CONDITIONS if x in asked[a] and y in asked[b] else 1 / (x * y)
        for a, b in pairs
        for x in range(1, sizes[a])
        for y in range(1, sizes[b])
    }
    plain = tuple(0 for _ in sizes)
    alone = (
        tuple(x if k == a else y if k == b else 0 for k in range(len(sizes)))
        for a, b in pairs
        for x, y in itertools.product(sorted(asked[a]), sorted(asked[b]))
    )
    listed = itertools.chain(itertools.islice(alone, _FEW_PAIRS), first)
    chosen = [plain, *dict.fromkeys(row for row in listed if any(row[:-1]))]
    for number in range(_MOST_ROWS):
        if number >= len(chosen):
            if not left:
                return
            rows = [tuple(int(generator.integers(size)) for size in sizes) for _ in range(_CHOICES)]
            chosen.append(
                max(rows, key=lambda row: sum(left.get((a, b, row[a], row[b]), 0.0) for a, b in pairs))
            )
        for a, b in pairs:
            left.pop((a, b, chosen[number][a], chosen[number][b]), None)
        yield chosen[number]


@dataclass(frozen=True)
class LaunchWithInputs:
    """One launch and its inputs."""

    label: str
    dispatch: CapturedDispatch
    inputs: Path


def moved_numbers(
    dispatch: CapturedDispatch,
    types: Sequence[str],
    elements: Mapping[int, Element],
    access: Mapping[int, AccessMap],
    folder: Path,
) -> Iterator[LaunchWithInputs]:
    """For a few small integers the launches in which these, and the elements that are the same, are larger: in what is
    updated, if that holds any, as inputs may hold numbers of elements.
    """
    whole = {i: e for i, e in elements.items() if e.kind == "integer" and e.size >= 4 and access[i].any(READ)}
    updated = {i: e for i, e in whole.items() if access[i].any(WRITTEN)}
    small = [
        n
        for n in numbers_of(dispatch, types)
        if n.kind == "integer" and n.declared and n.size >= 4 and 0 <= n.value <= _SMALL
    ]
    for number in small[:_FEW_MOVED]:
        for value in _OTHERS:
            at = folder / f"{number.offset}_{value}"
            if any(_write_moved(dispatch, held, number, value, at) for held in (updated, whole)):
                kernarg = bytearray(dispatch.kernarg())
                kernarg[number.offset : number.offset + number.size] = number.encoded(value)
                changed = write_dispatch(dispatch, at / "launch", bytes(kernarg), {})
                label = f"{number.label} {value:,} instead of {number.value:.0f}, also in the inputs"
                yield LaunchWithInputs(label, changed, at)


def _write_moved(
    dispatch: CapturedDispatch, elements: Mapping[int, Element], number: Number, value: int, inputs: Path
) -> bool:
    """Write the inputs; False where none of them holds the number."""
    inputs.mkdir(parents=True, exist_ok=True)
    found = False
    for buffer in dispatch.buffers:
        element = elements.get(buffer.index)
        if element is None or buffer.size > _LARGEST:
            continue
        old = buffer.mapped()
        raw = old[: len(old) // element.size * element.size].view(f"<u{element.size}")
        same = raw == int(number.value)
        if same.any():
            made = np.where(same, raw.dtype.type(value), raw)
            write_replacement(inputs, buffer.index, old, [(0, made.view(np.uint8))])
            found = True
    return found
