"""Other arguments for a captured launch: sizes around the recorded one, flags turned, other floats.

Takes a captured dispatch, gives kernarg segments. They show a candidate that is only right for the numbers that it was
recorded with. Whether the reference is well defined there, the caller must see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.model.defences import Defence
from hipscope.accordo.trials.code_constants import Named
from hipscope.accordo.trials.scalar_arguments import Number, numbers_of, with_changes

_FEW_SIZES = 8
_FEW_SMALL = 8
_FEW_EMPTY = 4  # of more sizes, none is 0 alone
_SMALL = (-8, 8)
_SMALL_VALUES = (0, 1, 2, 3, 4, 33)  # also as a shift beyond 32 bits
_LESS = 0.7310585  # of no few binary digits, with which rounding would not be seen
_FEW_FLOATS = {0.0: 4, 1.0: 2}  # that are 0 and 1 one by one
_FEW_WIDE = 3
_FEW_SIGNED = 6
_FEW_NAMED = 3
_ALTERNATING = 0x5555_5555_5555_5555

Change = Callable[[float], float]


@dataclass(frozen=True)
class OtherArguments:
    """A kernarg segment to launch with; `longer` when the buffers should be longer, too."""

    defence: Defence
    label: str
    kernarg: bytes
    longer: bool = False


def other_arguments(dispatch: CapturedDispatch, types: Sequence[str]) -> list[OtherArguments]:
    """The segments, each once. `types` are the types of the kernel's parameters."""
    numbers = numbers_of(dispatch, types)
    kernarg = dispatch.kernarg()
    others = _other_scalars(kernarg, [n for n in numbers if n.kind != "integer"])
    zeros = _plain_floats(kernarg, [n for n in numbers if n.kind == "float"], 0.0)
    integers = [n for n in numbers if n.kind == "integer"]
    listed = [
        *_other_sizes(kernarg, [n for n in integers if n.value > 1], dispatch.workgroup[0]),
        *(OtherArguments("other_scalars", label, other) for label, other in others.items()),
        *(OtherArguments("zero_scalars", label, other) for label, other in zeros.items()),
        # Behind a flag may be the only use of a float.
        *_turned_flags(next(iter(others.values())), integers),
        *_wide(kernarg, integers),
        *_other_strides(kernarg, integers),
    ]
    known: dict[tuple[bytes, bool], OtherArguments] = {}
    for one in listed:
        known.setdefault((one.kernarg, one.longer), one)
    return [one for one in known.values() if one.kernarg != kernarg]


def _other_sizes(kernarg: bytes, sizes: Sequence[Number], workgroup: int) -> Iterator[OtherArguments]:
    """Integers above 1: one less, together and so that any two differ; 1; 0; one more; whole workgroups.

    Those of whole workgroups are never larger than recorded: what lies behind, buffers need not hold.
    """
    if not sizes:
        return
    changes: list[tuple[str, Sequence[Number], Change]] = [
        ("integer arguments one less", sizes, lambda n: n - 1),
        *((label, chosen, lambda n: n - 1) for label, chosen in _apart(sizes)),
        ("integer arguments 1", sizes, lambda _: 1),
        ("integer arguments 0", sizes, lambda _: 0),
        *((f"{one.label} 0", [one], lambda _: 0) for one in sizes if 1 < len(sizes) <= _FEW_EMPTY),
    ]
    for label, chosen, change in changes:
        yield OtherArguments("other_sizes", label, with_changes(kernarg, chosen, change))
    large = [n for n in sizes if n.value > _SMALL[1]]
    signed = [n for n in large if n.declared and n.element.name.startswith("int")][:_FEW_SIGNED]
    for one in signed:
        negative = with_changes(kernarg, [one], lambda n: -n)
        yield OtherArguments("other_signs", f"{one.label} of the other sign", negative)
    more = with_changes(kernarg, sizes, lambda n: n + 1)
    yield OtherArguments("other_sizes", "integer arguments one more, longer buffers", more, longer=True)
    long = [n for n in sizes if n.value > workgroup > 1]
    for label, change in _whole_workgroups(workgroup).items():
        yield OtherArguments("whole_workgroups", label, with_changes(kernarg, long, change))


def _apart(sizes: Sequence[Number]) -> Iterator[tuple[str, Sequence[Number]]]:
    """Choices in which of any two sizes one is and the other is not: each alone; of many, by their binary digits."""
    if len(sizes) < 2:
        return
    if len(sizes) <= _FEW_SIZES:
        yield from ((f"{one.label} one less", [one]) for one in sizes)
        return
    for digit in range((len(sizes) - 1).bit_length()):
        for value in (1, 0):
            chosen = [size for number, size in enumerate(sizes) if number >> digit & 1 == value]
            yield f"{', '.join(one.label for one in chosen)} one less", chosen


def _whole_workgroups(length: int) -> dict[str, Change]:
    return {
        "integer arguments of whole workgroups": lambda n: n // length * length,
        "integer arguments one more than whole workgroups": lambda n: min(n, n // length * length + 1),
        "integer arguments one less than whole workgroups": lambda n: n // length * length - 1,
        "integer arguments of one workgroup": lambda _: length,
        "integer arguments of two workgroups": lambda n: min(n, 2 * length),
    }


def _turned_flags(kernarg: bytes, integers: Sequence[Number]) -> Iterator[OtherArguments]:
    """Small integers, a few of them and each alone: other small ones. They may be flags, modes or numbers of a step.

    What is below 0 only becomes one more, and of marks such as -100 also 0.
    """
    small = [
        n
        for n in integers
        if _SMALL[0] <= n.value <= _SMALL[1]
        or (n.value < 0 and n.declared and n.element.name.startswith("int"))
    ]
    for number in sorted(small, key=_may_be_an_upper_half)[:_FEW_SMALL]:
        marks = (number.value + 1, 0) if number.value < _SMALL[0] else (number.value + 1,)
        values = _SMALL_VALUES if number.value >= 0 else marks
        for value in sorted(values, key=lambda v: abs(v - number.value)):
            label = f"{number.label} {value:.0f} instead of {number.value:.0f}, other floats"
            yield OtherArguments("turned_flags", label, with_changes(kernarg, [number], _always(value)))


def _wide(kernarg: bytes, integers: Sequence[Number]) -> Iterator[OtherArguments]:
    """Each integer of 64 bits with other upper bits, and as zero: a size, a seed or a shift that 32 bits do not hold.

    Buffers are longer: of a size, all that the launch can reach counts then.
    """
    for number in [n for n in integers if n.size == 8 and n.declared][:_FEW_WIDE]:
        for told, change in (
            ("beyond 32 bits", lambda n: n + (5 << 32)),
            ("just below 32 bits", lambda n: int(n) | (1 << 32) - 3),
            ("of other bits throughout", lambda n: int(n) ^ _ALTERNATING),
            ("0", lambda _: 0),
        ):
            other = with_changes(kernarg, [number], change)
            yield OtherArguments("other_scalars", f"{number.label} {told}", other, longer=True)


def named_arguments(
    dispatch: CapturedDispatch, types: Sequence[str], named: Named
) -> Iterator[OtherArguments]:
    """Arguments that are a number which a program names, or one more: each alone, the largest numbers first.

    Small ones are tried anyhow of arguments that are small. Buffers are longer, as the number may be a size.
    """
    numbers, kernarg = numbers_of(dispatch, types), dispatch.kernarg()
    listed = sorted((n for n in named.integers if n > 0 and n not in _SMALL_VALUES), reverse=True)
    integers = [n for n in listed if n > _SMALL[1]][:_FEW_NAMED]
    integers += [n for n in listed if n <= _SMALL[1]][:_FEW_NAMED]
    few = {m for n in named.integers if n in _SMALL_VALUES and n <= _SMALL[1] for m in (n, n - 1) if m > 0}
    small = sorted(few)[:_FEW_NAMED]  # below 2 may be a comparison with 1
    floats = sorted(named.floats, key=abs, reverse=True)[:_FEW_NAMED]
    for number in [n for n in numbers if n.kind in ("integer", "float") and n.declared][:_FEW_SMALL]:
        values = integers if number.kind == "integer" else floats
        tried = (
            list(dict.fromkeys([*values, *(v + 1 for v in values)])) if number.kind == "integer" else values
        )
        if number.kind == "integer" and number.value > _SMALL[1]:
            tried = [*tried, *small]
        for value in tried:
            label = f"{number.label} {value:g} (the candidate names it)"
            other = with_changes(kernarg, [number], _always(value))
            if other != kernarg:
                yield OtherArguments("named_arguments", label, other, longer=True)


def _always(value: float) -> Change:
    return lambda _: value


def _other_strides(kernarg: bytes, integers: Sequence[Number]) -> Iterator[OtherArguments]:
    """Integers of 1 doubled and those above halved: a stride of two, for which the buffers are long enough."""
    ones, sizes = [n for n in integers if n.value == 1], [n for n in integers if n.value > 1]
    if ones and sizes:
        halved = with_changes(kernarg, sizes, lambda n: n // 2)
        label = "integer arguments halved, those of 1 doubled"
        yield OtherArguments("other_strides", label, with_changes(halved, ones, lambda n: 2 * n))


def _may_be_an_upper_half(number: Number) -> bool:
    """Of a 64-bit integer in a structure: no flag then, and nothing is well defined with another one."""
    return not number.declared and number.offset % 8 == 4


def _other_scalars(kernarg: bytes, scalars: Sequence[Number]) -> dict[str, bytes]:
    """Every float made a little smaller (0 becomes 0.5), with every bool turned; larger, and above 1; negative."""
    floats = [n for n in scalars if n.kind == "float"]
    other = with_changes(kernarg, floats, lambda x: x * _LESS if x else 0.5)
    return {
        "other float and bool arguments": with_changes(
            other, [n for n in scalars if n.kind == "bool"], lambda b: 1 - b
        ),
        "larger float arguments": with_changes(
            kernarg, floats, lambda x: x + math.copysign(1.1 + 2.9 * abs(x), x)
        ),
        "float arguments of the other sign": with_changes(kernarg, floats, lambda x: -x if x else -0.5),
        **_plain_floats(kernarg, floats, 1.0),
    }


def _plain_floats(kernarg: bytes, floats: Sequence[Number], value: float) -> dict[str, bytes]:
    """Floats that are 0 or 1, for which programs have shortcuts: each alone of a few, else all; 0 also all together."""
    each = [[one] for one in floats] if len(floats) <= _FEW_FLOATS[value] else []
    together = [list(floats)] if len(floats) > 1 and (value == 0 or not each) else []
    found = {}
    for group in (*each, *together):
        name = group[0].label if len(group) == 1 else "float arguments"
        found[f"{name} {value:.0f}"] = with_changes(kernarg, group, _always(value))
    return found
