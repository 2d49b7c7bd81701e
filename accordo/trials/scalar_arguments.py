"""The numbers among the by-value arguments of a captured launch, and argument segments with others in their place.

A parameter of a plain type is known by it. Of a structure, each aligned word of four bytes counts that leads into no
buffer: as an integer where it is a small one, else as a float where it has the size of one. The upper half of a double
has that, too, and with another upper half it is another double.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hipscope.accordo.dispatch.captured import Argument, CapturedDispatch
from hipscope.accordo.trials.fresh_inputs import encoded
from hipscope.analysis.source.number_types import Element, element_of

_LARGEST_INTEGER = 1 << 24  # in a structure: what is larger is more likely a float
_PLAUSIBLE = (1e-10, 1e10)  # sizes of a float in a structure
_FP32 = element_of("float")
_INT32 = element_of("int")


@dataclass(frozen=True)
class Number:
    """A number in the kernarg segment, `offset` and `size` in bytes. `label` says where, for a reader.

    `declared` is False for a word of a structure, whose type is a guess.
    """

    label: str
    offset: int
    size: int
    kind: Literal["integer", "bool", "float"]
    element: Element
    value: float
    declared: bool = True

    def encoded(self, value: float) -> bytes:
        """Another value in its place; integers wrap around."""
        if self.kind == "float":
            return encoded(np.array([value]), self.element)
        return (int(value) % (1 << 8 * self.size)).to_bytes(self.size, "little")


def numbers_of(dispatch: CapturedDispatch, types: Sequence[str]) -> tuple[Number, ...]:
    """The numbers that a launch was given by value; `types` are the types of the kernel's parameters."""
    kernarg = dispatch.kernarg()
    found: list[Number] = []
    for index, (argument, name) in enumerate(zip(dispatch.explicit_arguments, types, strict=False)):
        if argument.value_kind != "by_value":
            continue
        label = f"argument {index + 1}"
        element = element_of(name)
        if element.kind == "bytes":
            found += _words(dispatch, kernarg, argument, label)
        elif argument.size % element.size == 0:
            kind = "bool" if "bool" in name.split() else element.kind
            found += _plain(kernarg, argument, element, kind, label)
    return tuple(found)


def with_changes(kernarg: bytes, chosen: Iterable[Number], change: Callable[[float], float]) -> bytes:
    """The segment with the `chosen` numbers changed."""
    changed = bytearray(kernarg)
    for number in chosen:
        changed[number.offset : number.offset + number.size] = number.encoded(change(number.value))
    return bytes(changed)


def _plain(
    kernarg: bytes,
    argument: Argument,
    element: Element,
    kind: Literal["integer", "bool", "float"],
    label: str,
) -> Iterator[Number]:
    """A number, or those of a vector such as `float4`."""
    count = argument.size // element.size
    for k in range(count):
        at = argument.offset + k * element.size
        where = label if count == 1 else f"{label}, element {k}"
        yield Number(where, at, element.size, kind, element, _value(kernarg, at, element))


def _words(dispatch: CapturedDispatch, kernarg: bytes, argument: Argument, label: str) -> Iterator[Number]:
    end = argument.offset + argument.size
    if argument.size in (1, 2):  # an enumeration, most likely
        element = element_of("unsigned char" if argument.size == 1 else "unsigned short")
        value = _value(kernarg, argument.offset, element)
        yield Number(label, argument.offset, argument.size, "integer", element, value)
    pointers = {
        word
        for word in range(argument.offset, end - 7, 8)
        for b in dispatch.buffers
        if 0 <= int.from_bytes(kernarg[word : word + 8], "little") - b.address < max(1, b.size)
    }
    for at in range(argument.offset, end - 3, 4):
        if at in pointers or at - 4 in pointers:
            continue
        where, value = f"{label}, byte {at - argument.offset}", _value(kernarg, at, _INT32)
        if abs(value) <= _LARGEST_INTEGER:
            yield Number(where, at, 4, "integer", _INT32, value, declared=False)
        elif _PLAUSIBLE[0] < abs(size := _value(kernarg, at, _FP32)) < _PLAUSIBLE[1]:
            yield Number(where, at, 4, "float", _FP32, size, declared=False)


def _value(kernarg: bytes, at: int, element: Element) -> float:
    raw = kernarg[at : at + element.size]
    if element.kind == "float":
        return float(element.numbers(raw)[0])
    return int.from_bytes(raw, "little", signed=True)
