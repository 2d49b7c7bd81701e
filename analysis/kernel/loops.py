"""How a loop counts: by which variable, from where, to where and by which step, as its text says.

Takes a loop, gives a `CountedLoop`, or why none is known as the end of a sentence about the loop. Its head alone moves
the variable, or the last statement of a `while`; what the bound and the step hold may still change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    bare,
    child_of,
    names_in,
    operator_of,
    sets,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import INTEGERS, NUMBER_TYPES

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_UP, _DOWN = ("+", "*", "<<"), ("-", "/", ">>")
_NUMBER = re.compile(r"(-?(?:0[xX][0-9a-fA-F]+|0|[1-9]\d*))[uUlL]*")
_MOST_TRIPS = 64  # of a variable that is multiplied, divided or shifted: the bits of the largest integer
NO_HEAD = "does not go by a step, as `for (int i = ...; i < n; i += step)` does"


@dataclass(frozen=True)
class CountedLoop:
    """`for (type variable = first; variable comparison bound; variable operator= amount)`.

    `type` is empty for a variable from before, `first` None where it keeps its value from there. `bound` is None for
    zero, as in `while (s)`, `amount` for one. `further` are other parts of the head that declare, set or step
    something. `asked` is the variable where the condition compares it, `statements` are those of a step, without
    its `update`.
    """

    node: Node
    asked: Node
    type: str
    first: Node | None
    comparison: str
    bound: Node | None
    operator: str
    amount: Node | None
    update: Node
    statements: tuple[Node, ...]
    further: tuple[Node, ...] = ()

    @property
    def variable(self) -> str:
        """The name of what it counts."""
        return text_of(self.asked)

    @property
    def by(self) -> int | None:
        """What a step adds, as a number; None for other steps."""
        amount = self._amount
        if amount is None or amount < 0 or self.operator not in "+-":
            return None
        return amount if self.operator == "+" else -amount

    @property
    def below(self) -> bool:
        """Whether it goes by adding, below a bound."""
        return self.operator == "+" and self.comparison in ("<", "<=")

    @property
    def halves(self) -> bool:
        """Whether a step makes the variable half as large."""
        return (self.operator, self._amount) in (("/", 2), (">>", 1))

    @property
    def doubles(self) -> bool:
        """Whether a step makes the variable twice as large."""
        return (self.operator, self._amount) in (("*", 2), ("<<", 1))

    @property
    def _amount(self) -> int | None:
        return 1 if self.amount is None else number_of(self.amount)

    def trips(self, number: Callable[[Node], int | None] | None = None) -> int | None:
        """How many steps the loop has unless it is left; None where its text does not say so in numbers.

        `number` gives the values of other expressions than numbers.
        """
        value = number or number_of
        first = None if self.first is None else value(self.first)
        bound = 0 if self.bound is None else value(self.bound)
        if first is None or bound is None:
            return None
        if not (self.halves or self.doubles):
            return self.between(first, bound)
        steps = 0
        while steps < _MOST_TRIPS and _holds(first, self.comparison, bound):
            first, steps = first // 2 if self.halves else first * 2, steps + 1
        return steps if steps < _MOST_TRIPS else None

    def between(self, first: int, bound: int) -> int | None:
        """The steps from one number to another, if something is added that keeps the variable within its type."""
        by = self.by or 0
        far = (bound - first) * (1 if by > 0 else -1)
        if by == 0 or (self.type in NUMBER_TYPES and self.type not in INTEGERS):
            return None
        if self.comparison == "!=":
            steps = far // abs(by) if far >= 0 and far % abs(by) == 0 else None
        else:
            steps = max(0, -(-(far + ("=" in self.comparison)) // abs(by)))
        kind = INTEGERS.get(self.type)
        if steps is None or kind is None:
            return steps
        low, high = (
            (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
        )
        return steps if low <= first <= high and low <= first + steps * by <= high else None


def head_values(loop: Node) -> dict[str, tuple[str, Node]] | None:
    """Type ("" for a variable from before) and value of each name that a loop's head declares or sets.

    None where the head does something else.
    """
    head = loop.child_by_field_name("initializer")
    if head is None or not head.named_children:
        return {}
    kind, parts = "", _parts(head)
    if head.type == "declaration":
        kind, parts = squeeze(text_of(child_of(head, "type"))), head.children_by_field_name("declarator")
    found = {}
    for part in parts:
        if sets(part):
            name, value = child_of(part, "left"), child_of(part, "right")
        elif part.type == "init_declarator":
            name, value = child_of(part, "declarator"), child_of(part, "value")
        else:
            return None
        if name.type != "identifier":
            return None
        found[text_of(name)] = kind, value
    return found


def stepped_names(loop: Node) -> frozenset[str]:
    """The names that the head of a loop changes behind each step."""
    update = loop.child_by_field_name("update")
    return frozenset() if update is None else changed_names(update)


def number_of(node: Node) -> int | None:
    """The value of an integer in digits."""
    match = _NUMBER.fullmatch(text_of(bare(node)))
    return int(match[1], 0) if match is not None else None


def counted_loop(loop: Node) -> CountedLoop | str:
    """How the loop counts, or why that is not known."""
    if loop.has_error:
        return "is not read in whole"
    if loop.type not in ("for_statement", "while_statement"):
        return "is no `for` loop"
    body = child_of(loop, "body")
    statements = tuple(body.named_children) if body.type == "compound_statement" else (body,)
    condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
    head = loop.child_by_field_name("initializer")
    if loop.type == "while_statement":
        condition = child_of(loop, "condition").child_by_field_name("value")
        inner = [n for n in statements if n.type != "comment"]
        if not inner or inner[-1].type != "expression_statement" or len(inner[-1].named_children) != 1:
            return "is no `for` loop, and does not end with its step"
        update, statements = inner[-1].named_children[0], tuple(inner[:-1])
        if any(n.type == "continue_statement" and _ends_step(n, loop) for n in walk(loop)):
            return "is no `for` loop, and can begin its next step in the middle"
    if condition is None or update is None:
        return NO_HEAD
    parts = _parts(update)
    steps = {step[0]: (part, step) for part in parts if (step := _step(part))}
    compared = _compared(condition, frozenset(steps))
    if compared is None:
        return NO_HEAD
    asked, comparison, bound = compared
    variable = text_of(asked)
    part, (_, operator, amount) = steps[variable]
    kind, first, others = _begin(head, variable)
    if kind is None or (head is not None and first is None):
        return NO_HEAD
    moving = names_in(bound) if bound is not None else frozenset[str]()
    moving |= names_in(amount) if amount is not None else frozenset()
    if variable in moving:
        return f"has a bound or a step that `{variable}` is part of"
    if comparison in (("<", "<=") if operator in _DOWN else (">", ">=")):
        return "goes away from its bound"
    beside = tuple(p for p in parts if p.id != part.id)
    if variable in changed_names(*statements, *beside):
        return f"may change `{variable}` in a step"
    further = (*others, *beside)
    return CountedLoop(
        loop, asked, kind, first, comparison, bound, operator, amount, part, statements, further
    )


def _compared(condition: Node, variables: frozenset[str]) -> tuple[Node, str, Node | None] | None:
    """Variable, comparison and bound of a condition that compares one of these variables with something else."""
    condition = bare(condition)
    if condition.type == "identifier" and text_of(condition) in variables:
        return condition, "!=", None
    operator = operator_of(condition)
    if condition.type != "binary_expression" or operator not in _MIRRORED:
        return None
    left, right = bare(child_of(condition, "left")), child_of(condition, "right")
    if left.type == "identifier" and text_of(left) in variables:
        return left, operator, right
    right = bare(right)
    if right.type == "identifier" and text_of(right) in variables:
        return right, _MIRRORED[operator], child_of(condition, "left")
    return None


def _parts(update: Node) -> list[Node]:
    """The parts of `++i, m++`."""
    if update.type != "comma_expression":
        return [update]
    return [part for child in update.named_children for part in _parts(child)]


def _step(update: Node) -> tuple[str, str, Node | None] | None:
    """Variable, operator and amount of `i++`, `i -= 2`, `i = i + n`, `s >>= 1`."""
    update = bare(update)
    if update.type == "update_expression":
        counted = bare(child_of(update, "argument"))
        plain = counted.type == "identifier"
        return (text_of(counted), operator_of(update)[0], None) if plain else None
    if update.type != "assignment_expression":
        return None
    target = bare(child_of(update, "left"))
    if target.type != "identifier":
        return None
    name, operator, value = text_of(target), operator_of(update), child_of(update, "right")
    if operator == "=":
        value = bare(value)
        if value.type != "binary_expression":
            return None
        operator = operator_of(value) + "="
        sides = child_of(value, "left"), child_of(value, "right")
        if operator in ("+=", "*=") and text_of(sides[0]) != name:
            sides = sides[::-1]
        if text_of(sides[0]) != name:
            return None
        value = sides[1]
    operator = operator.removesuffix("=")
    if operator == "+" and text_of(bare(value)) == name:
        return name, "<<", None
    return (name, operator, value) if operator in (*_UP, *_DOWN) else None


def _begin(head: Node | None, variable: str) -> tuple[str | None, Node | None, tuple[Node, ...]]:
    """Type, first value and what else a head declares or sets; the type is None for what is not read."""
    if head is None:
        return "", None, ()
    if head.type == "declaration":
        if any(text_of(c) == "volatile" for c in head.children):
            return None, None, ()
        declarators = head.children_by_field_name("declarator")
        own = [d for d in declarators if text_of(child_of(d, "declarator")) == variable]
        if len(own) != 1 or own[0].type != "init_declarator":
            return None, None, ()
        others = tuple(d for d in declarators if d.id != own[0].id)
        return squeeze(text_of(child_of(head, "type"))), _value(child_of(own[0], "value")), others
    parts = _parts(head)
    own = [p for p in parts if sets(p) and text_of(child_of(p, "left")) == variable]
    if len(own) != 1:
        return None, None, ()
    return "", child_of(own[0], "right"), tuple(p for p in parts if p.id != own[0].id)


def _value(node: Node) -> Node | None:
    """The one value in `= 0`, `(0)` and `{0}`."""
    if node.type not in ("initializer_list", "argument_list"):
        return node
    return node.named_children[0] if len(node.named_children) == 1 else None


def _ends_step(node: Node, loop: Node) -> bool:
    return not any(outer.type in LOOPS for outer in ancestors(node, loop))


def _holds(value: int, comparison: str, bound: int) -> bool:
    return {
        "<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound, "!=": value != bound,
    }[comparison]  # fmt: skip
