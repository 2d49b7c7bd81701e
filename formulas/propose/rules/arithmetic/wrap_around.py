"""Any hot kernel: the remainder of an index next to another one, tens of instructions, becomes a comparison.

At a periodic boundary `(x + 1) % width` is `x + 1` but for the last x. `x + 1 < width ? x + 1 : (x + 1) % width` is
the same for every value that is not negative, and a wave divides only if one of its lanes is at the boundary. Where x
is a remainder of that width itself, no division is left: `x + 1 < width ? x + 1 : 0`, `x > 0 ? x - 1 : width - 1`.
Needs an index that is unsigned, or not negative as recorded. Of others, and of `(x - step + width) % width` and
`(x % width + width) % width`, a helper compares, which divides what lies further away. A call of a macro with such a
remainder becomes what it stands for. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.source.nodes import bare, child_of, initialized, joins, operator_of, text_of, walk
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.arithmetic.division import is_division, operand_types
from hipscope.formulas.propose.rules.ranges.integer_ranges import Ranges
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    declared_type,
    helper_above,
    indentation,
    style_of,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

_LIMIT = 2**31
_UNSIGNED = integers(32, signed=False)
_NAME = r"[A-Za-z_]\w*"


@dataclass(frozen=True)
class _Neighbour:
    """`sum % size`: the text of the sum, `place` and whether it is the place before it (`size + place - 1`)."""

    node: Node
    sum: str
    size: str
    place: str
    before: bool


@rewrite("wrap_around", "Arithmetic", anywhere=True, function=True, any_caller=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """A comparison for the remainder of a neighbour's index.

    Needs: written out: an index that is unsigned, or known to be in 0..2^31; by the helper: operands of one type.
    Assumes: parameters as recorded.
    """
    file = parse(source)
    nodes = [node for node in walk(kernel.body_node) if is_division(node, kernel, file, facts)]
    found = [n for node in nodes if (n := _neighbour(node)) is not None]
    ranges = Ranges(kernel, file, facts)
    texts = {n.node.id: _text(n, kernel, ranges, facts) for n in found}
    splices = [
        Splice(n.node.start_byte, n.node.end_byte, text.encode()) for n in found if (text := texts[n.node.id])
    ]
    splices += _by_helpers(source, kernel, file, facts, {at for at, text in texts.items() if text})
    if not splices and found:
        said = ", ".join(f"`{text_of(n.node)}`" for n in found)
        return (
            f"what {said} divide is not known to be non-negative and below 2^31, and its parts differ in type"
        )
    if not splices:
        return "the kernel takes no remainder of an index next to another one"
    used = ", ".join(f"`{name}`" for name in sorted(ranges.used))
    return edited(
        source,
        splices,
        title="Compare instead of dividing for an index that wraps around",
        expected=(
            "Tens of instructions fewer for each index but those at the boundary. Results stay the same bit "
            "for bit."
        ),
        assumes=(
            (f"{used} and the indices stay below 2^31 and are never negative, as recorded",) if used else ()
        ),
    )


def _by_helpers(
    source: bytes, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts, done: AbstractSet[int]
) -> list[Splice]:
    """Calls of helpers for all other remainders of places around one, and the helpers' definitions."""
    definitions: dict[str, tuple[str, str]] = {}

    def called_in(root: Node) -> list[Splice]:
        calls: list[Splice] = []
        for node in walk(root):
            if node.id in done or any(c.start <= node.start_byte < c.end for c in calls):
                continue
            wrapped = _wrapped(node, file)
            if wrapped is None or len(_kinds(wrapped, kernel, facts)) > 1:
                continue
            if wrapped.stem not in definitions:
                definitions[wrapped.stem] = _helper(source, kernel, wrapped.stem)
            text = f"{definitions[wrapped.stem][0]}({wrapped.value}, {wrapped.size})"
            around = node.parent if root is not kernel.body_node else None
            whole = around if around is not None and around.type == "parenthesized_expression" else node
            calls.append(Splice(whole.start_byte, whole.end_byte, text.encode()))
        return calls

    calls = called_in(kernel.body_node)
    for node, meaning in _macros(source, kernel):
        if any(c.start < node.end_byte and node.start_byte < c.end for c in calls):
            continue
        start, text = meaning.start_byte, text_of(meaning).encode()
        within = [replace(c, start=c.start - start, end=c.end - start) for c in called_in(meaning)]
        if within:
            calls.append(Splice(node.start_byte, node.end_byte, apply_splices(text, within)))
    above = "".join(text for _, text in definitions.values())
    return [Splice(kernel.span.start, kernel.span.start, above.encode()), *calls] if above else calls


def _macros(source: bytes, kernel: KernelSyntax) -> Iterator[tuple[Node, Node]]:
    """The kernel's calls of the file's macros, each with what it stands for; the macro itself serves others, too."""
    defined = set(re.findall(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)\(", source, re.MULTILINE))
    for node in walk(kernel.body_node):
        meaning = kernel.through.meanings.get(node.id) if node.type == "call_expression" else None
        if meaning is not None and text_of(child_of(node, "function")).encode() in defined:
            yield node, meaning


@dataclass(frozen=True)
class _Wrapped:
    """`value % size`, or with the sign of the size: by a helper whose name begins with `stem`."""

    stem: str
    value: str
    size: str
    operand: Node


_AROUND = "value < 0 ? value + size : value < size ? value : value - size"
# With a larger size, an unsigned sum may pass the end of its type, and its remainder is another one.
_SMALL = "size > 0 && size < (1 << 30)"
# What each helper gives, of which sizes it compares, and what a value near by is worth there.
_HELPERS = {
    "remainder_near": ("value % size", "size > 0", "value < size ? value : value - size"),
    "wrapped_near": ("(value + size) % size", _SMALL, _AROUND),
    "wrapped": ("(value % size + size) % size", _SMALL, _AROUND),
}


def _wrapped(node: Node, file: FileSyntax) -> _Wrapped | None:
    """A remainder by a variable of a sum with that variable, or of a neighbour of any sign."""
    if not joins(node, "%"):
        return None
    left, right = child_of(node, "left"), child_of(node, "right")
    if right.type not in ("identifier", "field_expression") or text_of(right) in file.constants:
        return None
    if left.type != "parenthesized_expression":
        return None
    size, terms = text_of(right), _terms(left.named_children[0])
    inner = [t for t in terms if t.type == "binary_expression"]
    if len(terms) == 2 and len(inner) == 1 and size in map(text_of, terms):
        value = child_of(inner[0], "left")
        if operator_of(inner[0]) == "%" and text_of(child_of(inner[0], "right")) == size:
            return _Wrapped("wrapped", _bare(value), size, value)
    if size not in map(text_of, terms) and _neighbour(node) is None:
        return None
    whole = left.named_children[0]
    sides = [child_of(whole, "left"), child_of(whole, "right")] if whole.type == "binary_expression" else []
    others = [side for side in sides if text_of(side) != size]
    if len(others) == 1 and operator_of(whole) == "+":
        return _Wrapped("wrapped_near", _bare(others[0]), size, whole)
    return _Wrapped("remainder_near", text_of(whole), size, whole)


def _terms(node: Node) -> list[Node]:
    """The parts of a sum, without brackets around them; what is subtracted is a part, too."""
    node = bare(node)
    if joins(node, "+", "-"):
        return [*_terms(child_of(node, "left")), *_terms(child_of(node, "right"))]
    return [node]


def _bare(node: Node) -> str:
    """The text without brackets around all of it."""
    return text_of(node.named_children[0] if node.type == "parenthesized_expression" else node)


def _kinds(wrapped: _Wrapped, kernel: KernelSyntax, facts: LaunchFacts) -> set[str]:
    """The types that are known of the operands: a helper takes one of them."""
    return (operand_types(wrapped.operand, kernel, facts) | {declared_type(wrapped.size, kernel) or ""}) - {
        ""
    }


def _helper(source: bytes, kernel: KernelSyntax, stem: str) -> tuple[str, str]:
    """Name and definition of a helper above the function; no definition where it stands there already."""
    style = style_of(source, kernel)
    parts = stem.split("_")
    name = parts[0] + "".join(p.capitalize() for p in parts[1:]) if style.camel_case else stem
    sides = "__host__ __device__" if "__host__" in kernel.attributes else "__device__"
    meaning, compared, near = _HELPERS[stem]
    indent, step = indentation(source, kernel.span.start), style.step

    def define(name: str) -> str:
        lines = [
            f"// `{meaning}`, which divides only what lies more than one `size` away.",
            "template <typename T>",
            f"static {sides} T {name}(T value, T size) {{",
            f"{step}if ({compared}) {{",
            f"{step}{step}const T near = {near};",
            f"{step}{step}if (near >= 0 && near < size) return near;",
            f"{step}}}",
            f"{step}return {meaning};",
            "}",
            "",
            "",
        ]
        return (
            style.newline.join(f"{indent}{line}" if line else line for line in lines)[len(indent) :] + indent
        )

    return helper_above(source, kernel, name, define)


def _neighbour(node: Node) -> _Neighbour | None:
    """A remainder of a name and a step, or of the size, a name and -1."""
    if operator_of(node) != "%" or child_of(node, "right").type != "identifier":
        return None
    left, size = child_of(node, "left"), text_of(child_of(node, "right"))
    if left.type != "parenthesized_expression":
        return None
    inner = text_of(left)[1:-1].strip()
    tight = re.sub(r"\s", "", inner)
    step = re.fullmatch(rf"({_NAME})\+(?:{_NAME}|\d+)[uU]?|\d+[uU]?\+({_NAME})", tight)
    if step is not None and not re.search(rf"\b{size}\b", tight):
        return _Neighbour(node, inner, size, step[1] or step[2], before=False)
    before = re.fullmatch(rf"{size}\+({_NAME})-1|({_NAME})\+{size}-1|({_NAME})-1\+{size}", tight)
    if before is None:
        return None
    return _Neighbour(node, inner, size, before[1] or before[2] or before[3], before=True)


def _text(neighbour: _Neighbour, kernel: KernelSyntax, ranges: Ranges, facts: LaunchFacts) -> str | None:
    """The comparison; None where the index may be negative or too large for it."""
    left = child_of(neighbour.node, "left")
    types = operand_types(left, kernel, facts) | {declared_type(neighbour.size, kernel) or ""}
    unsigned = bool(types & _UNSIGNED) and types <= _UNSIGNED | {"int"}
    known = ranges.of(left)
    bounded = known is not None and known[0] >= 0 and known[1] < _LIMIT
    total, size, place = neighbour.sum, neighbour.size, neighbour.place
    within = bounded and _is_remainder(place, size, kernel)
    if not bounded and (neighbour.before or not unsigned):
        return None
    if neighbour.before:
        text = f"{place} > 0 ? {place} - 1 : {size} - 1"
        if not within:
            text = f"{place} > 0 && {place} <= {size} ? {place} - 1 : ({total}) % {size}"
    elif within and re.sub(r"[\suU]", "", total) in (f"{place}+1", f"1+{place}"):
        text = f"{total} < {size} ? {total} : 0"
    else:
        text = f"{total} < {size} ? {total} : ({total}) % {size}"
    return text if _stands_alone(neighbour.node) else f"({text})"


def _is_remainder(place: str, size: str, kernel: KernelSyntax) -> bool:
    """Whether a name that never changes was declared as something `% size`, and the size stays, too."""
    changed = changed_once_declared(kernel)
    values = [child_of(node, "value") for node in initialized(place, kernel.body_node)]
    if len(values) != 1 or {place, size} & changed:
        return False
    return joins(values[0], "%") and text_of(child_of(values[0], "right")) == size


def _stands_alone(node: Node) -> bool:
    """Whether the expression is a whole value, so that a `?` needs no brackets."""
    parent = node.parent
    if parent is None or parent.type in ("init_declarator", "argument_list", "parenthesized_expression"):
        return True
    return parent.type == "assignment_expression" and child_of(parent, "right") == node
