"""Calls whose callee only computes a number from its arguments: functors, `Op::apply`, helpers of one `return`.

Takes the compiler's reading of a function's instances and the texts, gives what each such call stands for. Which
callee a template's argument chooses is the compiler's answer; nothing is guessed by names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import Call, FunctionInstance, Type
from hipscope.analysis.source.nodes import child_of, text_of, walk
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.parse import tree_of
from hipscope.analysis.source.texts import SourceTexts

_CHANGES = frozenset(
    {"assignment_expression", "update_expression", "lambda_expression", "pointer_expression"}
)
_MOST = 64  # of one function: tables of constants are no loops of compare-and-swap


@dataclass(frozen=True)
class ReturnedValue:
    """`value` of `function`, in the names of `parameters` with their number types; `result` is its own type."""

    parameters: tuple[tuple[str, str], ...]
    result: str
    value: Node = field(repr=False, compare=False)
    function: Node = field(repr=False, compare=False)


def returned_values(
    meaning: Meaning, functions: Sequence[FunctionInstance], texts: SourceTexts
) -> Mapping[tuple[int, int], ReturnedValue]:
    """The calls by their bytes, where all instances of the function call the same definition with the same types."""
    trees: dict[str, Node] = {}
    found: list[dict[tuple[int, int], tuple[object, ReturnedValue]]] = []
    for function in functions:
        calls = [c for c in function.calls if c.callee is not None and not c.builtin][:_MOST]
        known: dict[tuple[int, int], tuple[object, ReturnedValue]] = {}
        for call in calls:
            callee = meaning.function(call.callee) if call.callee is not None else None
            if callee is None or call.place.macro is not None or call.place.file != function.place.file:
                continue
            if (made := _returned(call, callee, texts, trees)) is not None:
                known[call.place.span] = (callee.place, made)
        found.append(known)
    first, *others = found
    return {
        span: made
        for span, (place, made) in first.items()
        if all(span in other and other[span] == (place, made) for other in others)
    }


def _returned(
    call: Call, callee: FunctionInstance, texts: SourceTexts, trees: dict[str, Node]
) -> ReturnedValue | None:
    """What a callee of one `return` gives; None where it does more, or uses more than its parameters."""
    numbers = [(p.name, _number(p.type)) for p in callee.parameters]
    result = _number(call.result) if call.result is not None else None
    parameters = tuple((name, kind) for name, kind in numbers if kind is not None and name)
    if result is None or len(parameters) < len(numbers) or callee.errors:
        return None
    text = texts.read(callee.place.file)
    if text is None:
        return None
    root = trees.setdefault(str(callee.place.file), tree_of(text))
    function = _definition(root, callee.place.span)
    body = function.child_by_field_name("body") if function is not None else None
    if function is None or body is None:
        return None
    statements = [n for n in body.named_children if n.type != "comment"]
    if len(statements) != 1 or statements[0].type != "return_statement" or not statements[0].named_children:
        return None
    value = statements[0].named_children[0]
    called = {child_of(n, "function").id for n in walk(value) if n.type == "call_expression"}
    used = {text_of(n) for n in walk(value) if n.type == "identifier" and n.id not in called}
    inside = {name for name, _ in parameters}
    if not used <= inside or not all(made.builtin for made in callee.calls):
        return None
    return (
        None
        if any(n.type in _CHANGES for n in walk(value))
        else ReturnedValue(parameters, result, value, function)
    )


def _definition(root: Node, span: tuple[int, int]) -> Node | None:
    """The definition that ends with those bytes, whatever the compiler counts to its beginning."""
    node = root.descendant_for_byte_range(span[1] - 1, span[1] - 1)
    while node is not None and node.type != "function_definition":
        node = node.parent
    return node if node is not None and node.end_byte == span[1] else None


def _number(kind: Type) -> str | None:
    """The number type of a parameter, also of one by reference to a constant; None of others."""
    if kind.canonical.endswith("&"):
        if kind.element is None or "const" not in kind.canonical.split():
            return None
        kind = kind.element
    known = NUMBER_TYPES.get(kind.plain)
    return kind.plain if known is not None and known.count == 1 else None
