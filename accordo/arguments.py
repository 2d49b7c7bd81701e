"""Other arguments for a captured launch: sizes around the recorded one, flags turned, other floats.

Takes a captured dispatch, gives kernarg segments. They show a candidate that is only right for the numbers that it was
recorded with. Whether the reference is well defined there, the caller must see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hipscope.accordo.capture import CapturedDispatch
from hipscope.accordo.defences import Defence
from hipscope.accordo.scalars import Number, numbers_of, with_changes

_FEW_SIZES = 3
_FEW_FLAGS = 4
_LESS = 0.75

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
    other = _other_scalars(kernarg, [n for n in numbers if n.kind != "integer"])
    listed = [
        *_other_sizes(kernarg, [n for n in numbers if n.kind == "integer" and n.value > 1], dispatch.workgroup[0]),
        OtherArguments("other_scalars", "other float and bool arguments", other),
        # Behind a flag may be the only use of a float.
        *_turned_flags(other, [n for n in numbers if n.kind == "integer" and n.value <= 1]),
    ]  # fmt: skip
    known: dict[tuple[bytes, bool], OtherArguments] = {}
    for one in listed:
        known.setdefault((one.kernarg, one.longer), one)
    return [one for one in known.values() if one.kernarg != kernarg]


def _other_sizes(kernarg: bytes, sizes: Sequence[Number], workgroup: int) -> Iterator[OtherArguments]:
    """Integers above 1: one less, together and (two or three of them) each alone; 1; 0; one more; whole workgroups.

    Those of whole workgroups are never larger than recorded: what lies behind, buffers need not hold.
    """
    if not sizes:
        return
    alone = sizes if 2 <= len(sizes) <= _FEW_SIZES else []
    changes: list[tuple[str, Sequence[Number], Change]] = [
        ("integer arguments one less", sizes, lambda n: n - 1),
        *((f"{one.label} one less", [one], lambda n: n - 1) for one in alone),
        ("integer arguments 1", sizes, lambda _: 1),
        ("integer arguments 0", sizes, lambda _: 0),
    ]
    for label, chosen, change in changes:
        yield OtherArguments("other_sizes", label, with_changes(kernarg, chosen, change))
    more = with_changes(kernarg, sizes, lambda n: n + 1)
    yield OtherArguments("other_sizes", "integer arguments one more, longer buffers", more, longer=True)
    long = [n for n in sizes if n.value > workgroup > 1]
    for label, change in _whole_workgroups(workgroup).items():
        yield OtherArguments("whole_workgroups", label, with_changes(kernarg, long, change))


def _whole_workgroups(length: int) -> dict[str, Change]:
    return {
        "integer arguments of whole workgroups": lambda n: n // length * length,
        "integer arguments one more than whole workgroups": lambda n: min(n, n // length * length + 1),
        "integer arguments one less than whole workgroups": lambda n: n // length * length - 1,
        "integer arguments of one workgroup": lambda _: length,
        "integer arguments of two workgroups": lambda n: min(n, 2 * length),
    }


def _turned_flags(kernarg: bytes, flags: Sequence[Number]) -> Iterator[OtherArguments]:
    """Integers that are 0, 1 or negative, a few of them and each alone: 1, 0, and one more."""
    for flag in sorted(flags, key=_may_be_an_upper_half)[:_FEW_FLAGS]:
        label = f"{flag.label} {_turned(flag.value):.0f} instead of {flag.value:.0f}, other floats"
        yield OtherArguments("turned_flags", label, with_changes(kernarg, [flag], _turned))


def _turned(value: float) -> float:
    return 1 - value if value >= 0 else value + 1


def _may_be_an_upper_half(number: Number) -> bool:
    """Of a 64-bit integer in a structure: no flag then, and nothing is well defined with another one."""
    return not number.declared and number.offset % 8 == 4


def _other_scalars(kernarg: bytes, scalars: Sequence[Number]) -> bytes:
    """Every float made a little smaller (0 becomes 0.5), and every bool turned."""
    floats = [n for n in scalars if n.kind == "float"]
    other = with_changes(kernarg, floats, lambda x: x * _LESS if x else 0.5)
    return with_changes(other, [n for n in scalars if n.kind == "bool"], lambda b: 1 - b)
