"""What statements store into an array, where everything that they need is a constant: integers, worked out here.

Takes statements and the file's syntax, gives the elements by their indices. Whatever C++ leaves open, or what is no
`int`, raises NotConstant: nothing is guessed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    arguments_of,
    called,
    child_of,
    declared_name,
    operator_of,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import Element
from hipscope.analysis.source.syntax import FileSyntax

_MOST_STEPS = 20_000
_INT = range(-(2**31), 2**31)  # int: 32 bits on every target of HIP
_EXACT_FLOATS = 2**24  # up to here every integer is a float
_READ_AS_INT = frozenset({"bool", "int8", "uint8", "int16", "uint16", "int32"})  # C++ [conv.prom]
_PLAIN = ("number_literal", "parenthesized_expression")  # what a macro may stand for in any expression

Elements = dict[tuple[int, ...], int]


class NotConstant(Exception):
    """The statement needs something that is only known when the kernel runs, or that is not read here."""


def _divided(left: int, right: int) -> int:
    """C++'s quotient, which is cut towards zero."""
    if right == 0:
        raise NotConstant
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divided,
    "%": lambda left, right: left - right * _divided(left, right),
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@dataclass
class Filling:
    """The statements so far: `values` of the variables that they declare, innermost block last, `arrays` by name.

    All arrays are the one with this type of elements, under the names that functions have for it.
    """

    file: FileSyntax
    element: Element
    arrays: dict[str, Elements]
    values: list[dict[str, int]] = field(default_factory=lambda: [{}])
    steps: Iterator[int] = field(default_factory=lambda: iter(range(_MOST_STEPS)))
    known: dict[str, int] = field(default_factory=dict)
    calls: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The variables that the statements declare."""
        return frozenset(name for values in self.values for name in values)

    def run(self, statement: Node) -> None:
        """One statement. Raises NotConstant."""
        if next(self.steps, None) is None:
            raise NotConstant
        if statement.type == "declaration":
            self._declare(statement)
        elif statement.type == "expression_statement" and len(statement.named_children) == 1:
            self._express(statement.named_children[0])
        elif statement.type == "for_statement":
            self._loop(statement)
        elif statement.type == "compound_statement":
            self._block(statement.named_children)
        elif statement.type != "comment":
            raise NotConstant

    def _block(self, statements: Sequence[Node]) -> None:
        self.values.append({})
        for statement in statements:
            self.run(statement)
        self.values.pop()

    def _declare(self, declaration: Node) -> None:
        kind, *declarators = declaration.named_children
        if text_of(kind) != "int":
            raise NotConstant
        for declarator in declarators:
            first = declarator.type == "init_declarator"
            name = child_of(declarator, "declarator") if first else declarator
            if name.type != "identifier":
                raise NotConstant
            self.values[-1][text_of(name)] = self.value(child_of(declarator, "value")) if first else _UNSET

    def _loop(self, loop: Node) -> None:
        start, condition, update = (
            loop.child_by_field_name(n) for n in ("initializer", "condition", "update")
        )
        if start is None or condition is None or update is None:
            raise NotConstant
        self.values.append({})
        if start.type == "declaration":
            self._declare(start)
        else:
            self._express(start)
        while self.value(condition):
            self.run(child_of(loop, "body"))
            self._express(update)
        self.values.pop()

    def _express(self, expression: Node) -> None:
        """A whole expression: an assignment, a count, or a call of the file's own function."""
        counted = [child_of(n, "argument") for n in walk(expression) if n.type == "update_expression"]
        names = [text_of(n) for n in walk(expression) if n.type == "identifier"]
        if any(names.count(text_of(n)) > 1 for n in counted):
            raise NotConstant  # which comes first is open, or looks as if it were
        if expression.type == "assignment_expression":
            self._assign(expression)
        elif expression.type == "call_expression":
            self._call(expression)
        else:
            self.value(expression)

    def _assign(self, assignment: Node) -> None:
        target, sign = child_of(assignment, "left"), operator_of(assignment)
        value = self.value(child_of(assignment, "right"))
        if sign != "=":
            value = self._joined(sign.removesuffix("="), self.value(target), value)
        if target.type == "identifier":
            self._set(text_of(target), value)
        else:
            name, indices = self._place(target)
            if not holds(self.element, value):
                raise NotConstant
            self.arrays[name][indices] = value

    def _set(self, name: str, value: int) -> None:
        values = next((values for values in reversed(self.values) if name in values), None)
        if values is None:
            raise NotConstant
        values[name] = value

    def _place(self, element: Node) -> tuple[str, tuple[int, ...]]:
        found = element_of(element)
        if found is None or found[0] not in self.arrays:
            raise NotConstant
        return found[0], tuple(self.value(index) for index in found[1])

    def _call(self, call: Node) -> None:
        """A function of the file that takes numbers and whole arrays, and gives nothing."""
        name, given = called(call) or "", arguments_of(call)
        function = _definition(name, self.file)
        parameters = [p for p in walk(child_of(function, "declarator")) if p.type == "parameter_declaration"]
        if name in self.calls or len(parameters) != len(given):
            raise NotConstant
        inner = Filling(self.file, self.element, {}, [{}], self.steps, self.known, (*self.calls, name))
        for parameter, argument in zip(parameters, given, strict=True):
            declarator = child_of(parameter, "declarator")
            own = declared_name(declarator)
            if own is None:
                raise NotConstant
            if declarator.type == "array_declarator" and text_of(argument) in self.arrays:
                inner.arrays[text_of(own)] = self.arrays[text_of(argument)]
            elif declarator.type == "identifier" and text_of(child_of(parameter, "type")) == "int":
                inner.values[0][text_of(own)] = self.value(argument)
            else:
                raise NotConstant
        inner._block(child_of(function, "body").named_children)

    def value(self, node: Node) -> int:
        """The value of an expression of type int. Raises NotConstant."""
        found = self._value(node)
        if found not in _INT:
            raise NotConstant
        return found

    def _value(self, node: Node) -> int:
        kind, text = node.type, text_of(node)
        if kind == "number_literal" and re.fullmatch(r"-?(?:0|[1-9]\d*)", text):
            return int(text)
        if kind == "identifier":
            return self._named(text)
        if kind == "parenthesized_expression" and len(node.named_children) == 1:
            return self.value(node.named_children[0])
        if kind == "unary_expression" and operator_of(node) == "-":
            return -self.value(child_of(node, "argument"))
        if kind == "binary_expression":
            sides = self.value(child_of(node, "left")), self.value(child_of(node, "right"))
            return self._joined(operator_of(node), *sides)
        if kind == "subscript_expression":
            if self.element.name not in _READ_AS_INT:
                raise NotConstant
            name, indices = self._place(node)
            return self.arrays[name].get(indices, _UNSET)
        if kind == "update_expression":
            return self._counted(node)
        raise NotConstant

    def _named(self, name: str) -> int:
        for values in reversed(self.values):
            if name in values:
                return values[name]
        if name not in self.known:
            self.known[name] = Filling(self.file, self.element, {}).value(_constant(name, self.file))
        return self.known[name]

    def _counted(self, node: Node) -> int:
        name, before = text_of(child_of(node, "argument")), self.value(child_of(node, "argument"))
        after = before + (1 if "++" in text_of(node) else -1)
        self._set(name, after)
        return after if text_of(node).startswith(("++", "--")) else before

    def _joined(self, sign: str, left: int, right: int) -> int:
        if sign not in _OPERATORS:
            raise NotConstant
        return int(_OPERATORS[sign](left, right))


_UNSET = 2**31  # no int: whoever reads it raises NotConstant


def holds(element: Element, number: int) -> bool:
    """Whether an integer is the same number as an element of this type."""
    bits = 8 * element.size
    if element.kind == "float":
        return abs(number) <= _EXACT_FLOATS
    if element.name == "bool":
        return number in (0, 1)
    unsigned = element.name.startswith("u")
    return number in (range(2**bits) if unsigned else range(-(2 ** (bits - 1)), 2 ** (bits - 1)))


def element_of(node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """(`a`, (`i`, `j`)) of `a[i][j]`."""
    indices: list[Node] = []
    while node.type == "subscript_expression":
        listed = child_of(node, "indices").named_children
        if len(listed) != 1:
            return None
        indices.insert(0, listed[0])
        node = child_of(node, "argument")
    return (text_of(node), tuple(indices)) if node.type == "identifier" and indices else None


def _constant(name: str, file: FileSyntax) -> Node:
    """What a name stands for that the file defines once, whatever else is defined. Raises NotConstant."""
    value = file.constants.get(name)
    if (
        value is None
        or len(re.findall(rf"#\s*(?:define|undef)\s+{re.escape(name)}\b", text_of(file.root))) > 1
    ):
        raise NotConstant
    defined = [
        n for n in file.root.children if n.type == "preproc_def" and text_of(child_of(n, "name")) == name
    ]
    if defined and value.type in _PLAIN:
        return value
    declared = [n for n in walk(file.root) if _declares(n, name)]
    around = value.parent.parent if value.parent is not None else None
    if defined or len(declared) != 1 or around is None or text_of(child_of(around, "type")) != "int":
        raise NotConstant
    return value


def _declares(node: Node, name: str) -> bool:
    """Whether a node is the name in a declaration of any kind."""
    if node.type != "identifier" or node.parent is None or text_of(node) != name:
        return False
    fields = (node.parent.child_by_field_name(f) for f in ("declarator", "name"))
    return any(field is not None and field.id == node.id for field in fields)


def _definition(name: str, file: FileSyntax) -> Node:
    """The only function of that name in the file, which is no template. Raises NotConstant."""
    found = [
        n
        for n in walk(file.root)
        if n.type == "function_definition" and text_of(declared_name(child_of(n, "declarator")) or n) == name
    ]
    template = bool(found) and found[0].parent is not None and found[0].parent.type == "template_declaration"
    if len(found) != 1 or template or re.search(rf"#\s*define\s+{re.escape(name)}\b", text_of(file.root)):
        raise NotConstant
    return found[0]
