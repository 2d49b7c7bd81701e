"""The types in a kernel's source as the compiler resolves them: what a pointer leads to, what an expression is.

Takes the compiler's reading of the file, gives the types on which all instances of the kernel agree. Empty where the
compiler complains about the kernel, or there is no libclang: nothing is guessed here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from hipscope.accordo.dispatch.parameters import template_values
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import FunctionInstance, FunctionParameter, Type
from hipscope.analysis.source.number_types import NUMBER_TYPES, element_bytes
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.texts import SourceTexts
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.facts.combining_calls import combining_calls
from hipscope.formulas.facts.launch_facts import SourceTypes

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_POINTER_BYTES = 8
_INTEGER = re.compile(r"-?\d+")
_QUALIFIER = re.compile(r"\b(const|volatile|struct|__restrict__?|restrict)\b")


def source_types(
    meaning: Meaning,
    symbols: Collection[str],
    file: Path,
    text: bytes,
    texts: SourceTexts | None = None,
) -> SourceTypes:
    """What all instances of a kernel have in common: those with these symbols, and the others that the file uses.

    `texts` are asked for what the kernel calls.
    """
    named = [meaning.function(symbol) for symbol in symbols]
    recorded = [function for function in named if function is not None]
    if len(recorded) < len(symbols) or not recorded:
        return SourceTypes()
    first = recorded[0]
    same = [f for f in meaning.named(first.name) if (f.place, f.template) == (first.place, first.template)]
    if first.place.file != file or any(meaning.doubts(function.key) for function in same):
        return SourceTypes()
    return SourceTypes(
        text=text,
        elements=_agreed([_elements(function.declared) for function in same]),
        instances=_instances(same),
        sizes=_agreed([_sizes(function) for function in same]),
        numbers=frozenset.intersection(*(_numbers(function) for function in same)),
        steady=frozenset.intersection(*(_steady(function) for function in same)),
        spans=_agreed([_spans(function, file) for function in same]),
        combining=combining_calls(meaning, same, texts) if texts is not None else {},
        arguments=tuple(dict.fromkeys(tuple(map(_argument, function.arguments)) for function in same)),
    )


def template_numbers(kernel: KernelSyntax, symbols: Iterable[str]) -> dict[str, frozenset[int]]:
    """The template parameters that are integers in all of these instances, with their values."""
    instances = [template_values(kernel, demangle(symbol)) for symbol in symbols]
    names = frozenset.intersection(*(frozenset(values) for values in instances)) if instances else frozenset()
    listed = {name: [values[name] for values in instances] for name in names}
    return {
        name: frozenset(map(int, texts))
        for name, texts in listed.items()
        if all(_INTEGER.fullmatch(text) for text in texts)
    }


def _argument(given: Type | int | str) -> str:
    return given.plain if isinstance(given, Type) else str(given)


def _elements(parameters: Iterable[FunctionParameter]) -> dict[str, str]:
    """The number types behind aliases and macros; `float4` and `uint32_t` stay as the compiler spells them."""
    pointers = [
        (p.name, p.type.element)
        for p in parameters
        if "*" in p.type.canonical and not p.type.dependent and p.type.element is not None
    ]
    named = [(name, _bare(element.spelling), element.plain) for name, element in pointers]
    return {
        name: spelled if element_bytes(spelled) is not None else plain
        for name, spelled, plain in named
        if element_bytes(spelled) is not None or plain in NUMBER_TYPES
    }


def _instances(functions: Sequence[FunctionInstance]) -> dict[str, frozenset[str]]:
    """What the pointers lead to in each of the instances, where the template decides, and what their types are."""
    decided = [
        number
        for number, p in enumerate(functions[0].declared)
        if "*" in p.type.canonical and p.type.dependent
    ]
    found: dict[str, frozenset[str]] = {}
    for number in decided:
        elements = [f.parameters[number].type.element for f in functions]
        known = frozenset(e.plain for e in elements if e is not None)
        declared = functions[0].declared[number]
        found[declared.name] = known
        if declared.type.element is not None:
            found[_bare(declared.type.element.spelling)] = known
    return found


def _sizes(function: FunctionInstance) -> dict[str, int]:
    """The bytes of each type that a parameter or an expression has, or leads to, by its spelling."""
    named = [*(p.type for p in function.parameters), *function.types.values()]
    types = {(_bare(t.spelling), t.bytes) for n in named for t in (n, n.element) if t is not None}
    times = Counter(spelling for spelling, _ in types)
    return {spelling: size for spelling, size in types if size is not None and times[spelling] == 1}


def _numbers(function: FunctionInstance) -> frozenset[str]:
    return frozenset(p.name for p in function.parameters if p.name and _holds_numbers(p.type))


def _steady(function: FunctionInstance) -> frozenset[str]:
    return frozenset(
        p.name for p in function.parameters if p.name and not p.assigned and "&" not in p.type.canonical
    )


def _holds_numbers(kind: Type) -> bool:
    """Whether nothing in a value of this type can be a pointer: no member is one, and none is left out.

    The members of base classes and a pointer to virtual functions are not among the members; they leave a gap.
    """
    if "*" in kind.canonical or "&" in kind.canonical or kind.bytes is None:
        return False
    if (
        kind.bytes < _POINTER_BYTES
        or element_bytes(_bare(kind.spelling)) is not None
        or kind.plain in NUMBER_TYPES
    ):
        return True
    if kind.element is not None:
        return _holds_numbers(kind.element)
    end = 0
    for member in kind.fields:
        if member.offset is None or member.type.bytes is None or member.offset - end >= _POINTER_BYTES:
            return False
        end = max(end, member.offset + member.type.bytes)
    return kind.bytes - end < _POINTER_BYTES and all(_holds_numbers(member.type) for member in kind.fields)


def _spans(function: FunctionInstance, file: Path) -> dict[tuple[int, int], str]:
    return {place.span: kind.plain for place, kind in function.types.items() if place.file == file}


def _bare(spelling: str) -> str:
    return " ".join(_QUALIFIER.sub(" ", spelling).split())


def _agreed(listed: list[dict[_Key, _Value]]) -> dict[_Key, _Value]:
    first, *others = listed
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
