"""What an expression of a kernel depends on: parts of the thread's number, the workgroup's number, counters of loops.

Takes a kernel and the shape of its workgroups, gives parts (`threadIdx.y`, `threadIdx.x / 16`) and axes. Follows
variables that are declared once and never change; what is not followed raises UnknownDependence. Nothing here edits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changes, reassigned_names
from hipscope.analysis.source.nodes import (
    arguments_of,
    built_in,
    called,
    child_of,
    declarations_in,
    joins,
    names_in,
    operator_of,
    squeeze,
    takes_address,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.propose.rules.shared.edit_helpers import INTEGER_TYPES, is_pure

_MAKES_VECTOR = re.compile(r"make_u?(int|long|longlong)[234]")
_DIVIDING = ("/", "%", ">>", "&")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|0|[1-9]\d*)[uUlL]*")
# What an expression that is followed is made of, beside names.
_FOLLOWED = frozenset(
    {
        "binary_expression", "unary_expression", "parenthesized_expression", "conditional_expression", "number_literal",
        "cast_expression", "type_descriptor", "primitive_type", "sized_type_specifier", "type_identifier",
        "subscript_expression", "subscript_argument_list", "argument_list", "call_expression", "template_function",
        "template_argument_list", "field_identifier", "true", "false", "pointer_expression",
    }
)  # fmt: skip


class UnknownDependence(Exception):
    """What an expression depends on is not known."""


@dataclass(frozen=True)
class ThreadPart:
    """`(index / divisor) % count` of an index such as `threadIdx.x`, whose values are 0 to `count` - 1.

    `size` is how many threads there are along that index.
    """

    index: str
    divisor: int
    count: int
    size: int

    @property
    def whole(self) -> bool:
        """The index itself."""
        return self.divisor == 1 and self.count == self.size

    @property
    def text(self) -> str:
        """How a thread writes its own."""
        divided = self.index if self.divisor == 1 else f"{self.index} / {self.divisor}"
        return divided if self.divisor * self.count >= self.size else f"{divided} % {self.count}"

    def first_thread(self, value: str) -> str:
        """The smallest index whose part has that value."""
        return value if self.divisor == 1 else f"({value} * {self.divisor})"


@dataclass(frozen=True)
class Dependences:
    """Answers for one kernel, for workgroups of one shape.

    `reads_only` says whether an element has the same value in the whole launch. `declared` are declarator and
    declaration of the variables that never change, `changed` the names that do. `once` is what arguments are changed
    by that only statements of the kernel's own block change. `counters` are variables of loops that all threads of a
    workgroup step alike.
    """

    kernel: KernelSyntax
    file: FileSyntax
    workgroup: tuple[int, int, int]
    reads_only: Callable[[Node], bool]
    declared: Mapping[str, tuple[Node, Node]]
    changed: frozenset[str]
    once: Mapping[str, tuple[Node, ...]]
    counters: frozenset[str] = frozenset()

    def parts(self, node: Node) -> frozenset[ThreadPart]:
        """The parts of the thread's number that it depends on. Raises UnknownDependence."""
        found: set[ThreadPart] = set()
        for index, divided in self._indices(node):
            if index.startswith("threadIdx"):
                found.add(self._part(index, divided))
        return frozenset(found)

    def block_axes(self, node: Node) -> frozenset[str]:
        """The axes of the workgroup's number that it depends on, as `blockIdx.x`. Raises UnknownDependence."""
        return frozenset(index for index, _ in self._indices(node) if index.startswith("blockIdx"))

    def uniform(self, node: Node) -> bool:
        """Whether all threads of a workgroup have the same value."""
        try:
            return not self.parts(node)
        except UnknownDependence:
            return False

    def rises(self, node: Node, part: ThreadPart) -> bool:
        """Whether the first thread with one value of the part has the least value: sums and products of indices, sizes
        and constants, none of which falls from there on.
        """
        wrapped = [p for p in self.parts(node) if p.index == part.index and p.divisor == 1 and not p.whole]
        return self._counts(node) and all(p == part or p.count == part.divisor for p in wrapped)

    def least(self, node: Node, free: frozenset[str]) -> int | None:
        """The value at index 0 of the `free` indices, where that is a number and the least one; else None."""
        if (number := self._number(node)) is not None:
            return number if number >= 0 else None
        if (index := built_in(text_of(node))) is not None:
            return 0 if index in free else None
        if (value := self._same(node)) is not None:
            return self.least(value, free)
        if node.type != "binary_expression":
            return None
        operator, left, right = (child_of(node, field) for field in ("operator", "left", "right"))
        sides = self.least(left, free), self.least(right, free)
        if text_of(operator) == "+":
            return sides[0] + sides[1] if sides[0] is not None and sides[1] is not None else None
        if text_of(operator) == "*":
            counted = self._counts(left), self._counts(right)
            if all(counted) and 0 in sides:
                return 0
            return sides[0] * sides[1] if sides[0] is not None and sides[1] is not None else None
        by = self._number(right)
        return (
            0
            if text_of(operator) in (*_DIVIDING, "<<") and sides[0] == 0 and by is not None and by > 0
            else None
        )

    def value(self, name: str) -> Node | None:
        """What such a variable is declared with."""
        known = self.declared.get(name)
        return None if known is None else known[0].child_by_field_name("value")

    def _indices(self, node: Node) -> Iterator[tuple[str, Node | None]]:
        """The built-in indices that an expression is made of, each with what it is divided by, in `index / 16`."""
        if (index := built_in(text_of(node))) is not None:
            yield index, None
            return
        if joins(node, *_DIVIDING):
            index = self._bare_index(child_of(node, "left"))
            if index is not None and self._number(child_of(node, "right")) is not None:
                yield index, node
                return
        if (component := self._component(node)) is not None:
            yield from self._indices(component)
            return
        if node.type == "identifier":
            for value in self._values_of_name(text_of(node)):
                yield from self._indices(value)
            return
        meaning = self.kernel.through.meanings.get(node.id)
        if node.type == "call_expression" and meaning is not None:
            if not names_in(meaning) <= names_in(node) | self.kernel.through.constants.keys():
                raise UnknownDependence(f"`{text_of(node)}` has more to it than its arguments")
            yield from self._indices(meaning)
            return
        place = place_of(node)
        if place is None:
            self._check(node)
        for child in (node if place is None else place).named_children:
            if not (node.type == "call_expression" and child == node.child_by_field_name("function")):
                yield from self._indices(child)

    def _check(self, node: Node) -> None:
        """Raises UnknownDependence where the node itself is not understood."""
        member = node.type == "field_expression" and operator_of(node) == "."
        if node.type not in _FOLLOWED and not member:
            raise UnknownDependence(f"`{text_of(node)}` is not followed")
        if node.type == "call_expression" and not is_pure(node):
            raise UnknownDependence(f"`{text_of(node)}` is not followed")
        if node.type in ("subscript_expression", "pointer_expression") and not self.reads_only(node):
            raise UnknownDependence(f"`{text_of(node)}` may change")

    def _values_of_name(self, name: str) -> tuple[Node, ...]:
        """The expressions that a name stands for; none where it is the same for all threads of a launch."""
        if name in self.counters:
            return ()
        if (value := self.value(name)) is not None:
            return (value,)
        if name in self.once and all(self.uniform(value) for value in self.once[name]):
            return self.once[name]
        parameter = self.kernel.parameter(name)
        known = parameter is not None or self._is_constant(name)
        if name in self.changed or not known or (parameter is not None and "&" in parameter.type):
            raise UnknownDependence(f"`{name}` is not followed")
        return ()

    def _component(self, node: Node) -> Node | None:
        """What a member of a HIP vector is made of: `a` of `p.x`, where `int2 p = make_int2(a, b)` stays."""
        if node.type != "field_expression" or operator_of(node) != ".":
            return None
        made, member = self.value(text_of(child_of(node, "argument"))), text_of(child_of(node, "field"))
        name = (called(made) or "") if made is not None else ""
        if made is None or _MAKES_VECTOR.fullmatch(name) is None or member not in tuple("xyzw"):
            return None
        components = arguments_of(made)
        return components["xyzw".index(member)] if "xyzw".index(member) < len(components) else None

    def _is_constant(self, name: str) -> bool:
        """Whether it is a number of the file or of the template: not a macro of the kernel's own variables."""
        if re.search(rf"\b{re.escape(name)}\b", self.kernel.template_head) is not None:
            return True
        value = self.file.constants.get(name) or self.kernel.through.constants.get(name)
        return value is not None and all(self._is_constant(inner) for inner in names_in(value) - {name})

    def _part(self, index: str, divided: Node | None) -> ThreadPart:
        size = self.workgroup["xyz".index(index[-1])]
        if divided is None:
            return ThreadPart(index, 1, size, size)
        operator, by = operator_of(divided), self._number(child_of(divided, "right")) or 0
        if operator == "&" and by & (by + 1) == 0:
            operator, by = "%", by + 1
        if operator == ">>":
            operator, by = "/", 1 << by
        if operator == "&" or by <= 0:
            raise UnknownDependence(f"`{text_of(divided)}` is not followed")
        if operator == "/":
            return ThreadPart(index, by, -(-size // by), size)
        return ThreadPart(index, 1, min(by, size), size)

    def _bare_index(self, node: Node) -> str | None:
        """The index that an expression is, maybe by another name."""
        if (index := built_in(text_of(node))) is not None:
            return index if index.startswith("threadIdx") else None
        value = self._same(node)
        return self._bare_index(value) if value is not None else None

    def _same(self, node: Node) -> Node | None:
        """What a variable, a member, parentheses or a cast stand for, where it is a whole number that stays."""
        if node.type == "parenthesized_expression":
            return node.named_children[0]
        if node.type == "cast_expression":
            return child_of(node, "value") if text_of(child_of(node, "type")) in INTEGER_TYPES else None
        if (component := self._component(node)) is not None:
            return component
        if node.type != "identifier" or (known := self.declared.get(text_of(node))) is None:
            return None
        kind = squeeze(text_of(child_of(known[1], "type")))
        return known[0].child_by_field_name("value") if kind in (*INTEGER_TYPES, "auto") else None

    def _number(self, node: Node) -> int | None:
        """The number that a literal, a constant of the file or a variable with one stands for."""
        text = text_of(node).strip()
        if (literal := _NUMBER.fullmatch(text)) is not None:
            return int(literal[1], 0)
        if node.type == "parenthesized_expression":
            return self._number(node.named_children[0])
        if node.type != "identifier" or self.kernel.parameter(text) is not None:
            return None
        value = self.value(text) or self.file.constants.get(text) or self.kernel.through.constants.get(text)
        return self._number(value) if value is not None else None

    def _counts(self, node: Node) -> bool:
        """A number that is never negative: an index, a size of the launch, a constant, sums and products of these."""
        if built_in(text_of(node)) is not None:
            return True
        if (number := self._number(node)) is not None:
            return number >= 0
        if (value := self._same(node)) is not None:
            return self._counts(value)
        if node.type != "binary_expression":
            return False
        operator, left, right = (child_of(node, field) for field in ("operator", "left", "right"))
        if text_of(operator) in _DIVIDING:
            return self._bare_index(left) is not None and (self._number(right) or 0) > 0
        return text_of(operator) in ("+", "*") and self._counts(left) and self._counts(right)


def place_of(node: Node) -> Node | None:
    """`p[i]` of `&p[i]`, which loads nothing; None for other nodes."""
    if not takes_address(node):
        return None
    place = child_of(node, "argument")
    return place if place.type == "subscript_expression" else None


def dependences(
    kernel: KernelSyntax,
    file: FileSyntax,
    workgroup: tuple[int, int, int],
    reads_only: Callable[[Node], bool],
) -> Dependences:
    """The answers for a kernel."""
    changed = reassigned_names(kernel.body_node)
    changed -= {p.name for p in kernel.parameters if p.pointer and not _moves(p.name, kernel)}
    every: dict[str, list[tuple[Node, Node]]] = {}
    for name, declarator, declaration in declarations_in(kernel.body_node):
        every.setdefault(name, []).append((declarator, declaration))
    taken = changed | {p.name for p in kernel.parameters}
    declared = {name: found[0] for name, found in every.items() if len(found) == 1 and name not in taken}
    once = {p.name: tuple(_changed_once(p.name, kernel)) for p in kernel.parameters if p.name in changed}
    known = {name: values for name, values in once.items() if values and name not in every}
    return Dependences(kernel, file, workgroup, reads_only, declared, changed | every.keys(), known)


def _moves(pointer: str, kernel: KernelSyntax) -> bool:
    """Whether anything but the use of its elements, or of their places, is done to a pointer."""
    for node in walk(kernel.body_node):
        if node.type == "assignment_expression" and text_of(child_of(node, "left")) == pointer:
            return True
        stepped = node.type == "update_expression" or text_of(node).startswith("&")
        if stepped and text_of(child_of(node, "argument")) == pointer:
            return True
        if node.type == "call_expression" and pointer in map(text_of, arguments_of(node)):
            return True
    return False


def _changed_once(name: str, kernel: KernelSyntax) -> Iterator[Node]:
    """What an argument is changed by, where that is all done by assignments in the kernel's own block."""
    times = sum(change.name == name and not change.declared for change in changes(kernel.body_node))
    found = []
    for statement in kernel.body_node.named_children:
        inner = statement.named_children[0] if statement.type == "expression_statement" else statement
        if inner.type == "assignment_expression" and text_of(child_of(inner, "left")) == name:
            found.append(child_of(inner, "right"))
    yield from found if len(found) == times else ()
