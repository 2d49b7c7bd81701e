"""Calls that combine two numbers to a sum, a product, bits or an extreme, whatever they are named: `op(x, y)`.

Takes the compiler's reading of a kernel's instances and the texts, gives the calls whose callee is such an operation in
all of them. Many numbers may then be combined in another order, which of a function in general nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import Call, FunctionInstance, Type
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.texts import SourceTexts

_CLASSES = frozenset({"fp16", "bf16"})  # HIP's own types, with operators that are functions
_BODY = re.compile(rb"\{\s*return\b([^;{}]+);\s*\}$")
_EXTREMES = "max|min|fmax|fmin|fmaxf|fminf"
_Place = tuple[int, int]


def combining_calls(
    meaning: Meaning, functions: Sequence[FunctionInstance], texts: SourceTexts
) -> dict[_Place, bool]:
    """The calls by their bytes, and whether any order gives the same bits: of integers it does."""
    found = [
        {call.place.span: _combines(meaning, function, call, texts) for call in function.calls}
        for function in functions
    ]
    first, *others = found
    return {
        place: all(known[place] for known in found)
        for place, exact in first.items()
        if exact is not None and all(other.get(place) is not None for other in others)
    }


def _combines(meaning: Meaning, function: FunctionInstance, call: Call, texts: SourceTexts) -> bool | None:
    """Whether it is such an operation on integers; None where it is none, or nobody says so."""
    callee = meaning.function(call.callee) if call.callee is not None else None
    if callee is None or call.place.macro is not None or call.place.file != function.place.file:
        return None
    parameters = [_number(parameter.type) for parameter in callee.parameters]
    if len(parameters) != 2 or parameters[0] is None or call.result is None:
        return None
    given = [function.types[place].plain for place in call.arguments[-2:] if place in function.types]
    inner = [kind.plain for made in callee.calls for kind in made.parameters]
    if [*parameters, call.result.plain, *given] != [parameters[0]] * 5 or not {*inner} <= {parameters[0]}:
        return None
    if callee.errors or not all(made.builtin for made in callee.calls):
        return None
    text = texts.read(callee.place.file) or b""
    body = _BODY.search(text[: callee.place.span[1]], callee.place.span[0])
    names = [re.escape(parameter.name) for parameter in callee.parameters]
    if body is None or not _is_operation(re.sub(r"\s", "", body[1].decode("utf-8", "replace")), *names):
        return None
    return NUMBER_TYPES[parameters[0]].element.kind == "integer"


def _number(kind: Type) -> str | None:
    """The number type of a parameter, also of one by reference; None of others."""
    bare = kind.element if kind.canonical.endswith("&") and kind.element is not None else kind
    known = NUMBER_TYPES.get(bare.plain)
    return (
        bare.plain if known is not None and known.count == 1 and known.element.name not in _CLASSES else None
    )


def _is_operation(text: str, one: str, two: str) -> bool:
    """Whether it is `a + b` and the like, `max(a, b)`, or `a < b ? b : a`, without anything else."""
    either = rf"(?:{one}{{}}{two}|{two}{{}}{one})"
    plain = either.replace("{}", r"[+*&|^]")
    extreme = rf"(?:std::|::)?(?:{_EXTREMES})\({either.replace('{}', ',')}\)"
    compared = either.replace("{}", "[<>]=?")
    chosen = rf"(?:{compared}|\({compared}\))\?{either.replace('{}', ':')}"
    whole = rf"(?:{plain}|{extreme}|{chosen})"
    return one != two and re.fullmatch(rf"{whole}|\({whole}\)", text) is not None
