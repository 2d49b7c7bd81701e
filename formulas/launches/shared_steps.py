"""The loops of a kernel whose steps several lanes may share, and what has to be put together behind each.

Takes a kernel, gives loops with the variables that they carry from step to step: sums, bits, the least or largest
value, perhaps with the counter at which it was found. Whatever else is carried makes a loop one that a lane does alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.builtins import is_a
from hipscope.analysis.kernel.effects import changed_names, reassigned_names
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    arguments_of,
    bare,
    called,
    child_of,
    condition_of,
    declarations_in,
    joins,
    names_in,
    operator_of,
    sets,
    statements_of,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.shared.edit_helpers import declared_type, only_statement
from hipscope.formulas.propose.rules.shared.loop_elements import is_steady
from hipscope.formulas.propose.rules.shared.loop_memory import memory_of

Kind = Literal["sum", "bits", "least", "best"]

_COUNTERS = integers(16)
_SUMS = ("+=", "-=")
_BITS = ("|=", "&=")
_ORDERLESS = ("atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor")
_MIRRORED = {"<": ">", ">": "<"}
_OF_LAUNCH = re.compile(r"[dD]im|threadIdx|blockIdx|ThreadIdx|BlockIdx")
_LEAVES = ("return_statement", "goto_statement", "labeled_statement", "break_statement", "switch_statement")


class CannotShare(Exception):
    """Why the steps of a loop are for one lane, as the end of a sentence."""


@dataclass(frozen=True)
class Carried:
    """A variable, or a member of one (`sum.x`), that a loop carries from step to step.

    `operator` is what joins two lanes' values: `+`, `|`, `fminf`, or how a better value compares (`<`). `places` are
    what else belongs to the best value; `counter` is the one of them that holds the loop's counter.
    """

    name: str
    kind: Kind
    operator: str
    type: str
    places: tuple[tuple[str, str], ...] = ()
    counter: str = ""


@dataclass(frozen=True)
class SharedLoop:
    """A loop that counts up by `step` from `begin`; `stored` are the texts of the elements that its steps write."""

    node: Node
    counter: str
    begin: Node
    update: Node
    step: str
    carried: tuple[Carried, ...]
    stored: tuple[tuple[str, str], ...]


def shared_loops(
    kernel: KernelSyntax, facts: LaunchFacts, types: Mapping[tuple[int, int], str], *, inner: bool = False
) -> tuple[list[SharedLoop], list[str]]:
    """The outermost loops that can be shared, in the order of the text, and why others cannot.

    With `inner`, of a loop that holds others that can be shared these.
    """
    found: list[SharedLoop] = []
    reasons: list[str] = []

    def look(node: Node) -> bool:
        if node.type == "for_statement" and inner and look_below(node):
            return True
        if node.type == "for_statement":
            try:
                found.append(_shared(node, kernel, facts, types))
            except CannotShare as reason:
                reasons.append(f"the loop on line {node.start_point.row + 1}: {reason}")
            else:
                return True
            if inner:
                return False
        return look_below(node)

    def look_below(node: Node) -> bool:
        answers = [look(child) for child in node.named_children]  # all of them: each adds what it finds
        return any(answers)

    look(kernel.body_node)
    return found, reasons


def _shared(
    node: Node, kernel: KernelSyntax, facts: LaunchFacts, types: Mapping[tuple[int, int], str]
) -> SharedLoop:
    counter, begin, update, step = _head(node, kernel)
    body = child_of(node, "body")
    _check_ways(body, node)
    changed = changed_names(body)
    if (
        counter in changed
        or names_in(step_of(update)) & changed
        or names_in(child_of(node, "condition")) & changed
    ):
        raise CannotShare("its steps change how it counts")
    if child_of(node, "initializer").type != "declaration" and not _only_counts(counter, node, kernel):
        raise CannotShare(f"`{counter}` is used behind it")
    memory = memory_of(kernel, facts, (node,))
    if memory.stored is None or not memory.stored <= memory.alone:
        raise CannotShare("something else may be stored to in it")
    if memory.stored & (names_in(child_of(node, "condition")) | names_in(begin)):
        raise CannotShare("where it ends is stored to in it")
    _check_atomics(node, memory.atomic, kernel)
    stored = _elements(node, counter, memory.stored - memory.atomic, kernel)
    carried = _carried(body, counter, kernel, types)
    if not carried and not stored and not memory.atomic:
        raise CannotShare("it neither adds up nor stores anything")
    return SharedLoop(node, counter, begin, update, step, carried, stored)


def _head(node: Node, kernel: KernelSyntax) -> tuple[str, Node, Node, str]:
    """Counter, first value, update and step of a loop that counts up below an end."""
    loop = counted_loop(node)
    if isinstance(loop, str):
        raise CannotShare(f"it {loop}")
    if loop.below and loop.first is not None and not loop.further:
        kind = loop.type or declared_type(loop.variable, kernel)
        if kind in _COUNTERS and (loop.amount is None or _is_plain_step(loop.amount, kernel)):
            return loop.variable, loop.first, loop.update, "" if loop.amount is None else text_of(loop.amount)
    raise CannotShare("it does not count up to an end")


def _is_plain_step(amount: Node, kernel: KernelSyntax) -> bool:
    """A number, or a variable that does not come from the launch: the steps of a grid are shared already."""
    if amount.type == "number_literal":
        return not text_of(amount).startswith("-")
    if amount.type != "identifier":
        return False
    values = [d for name, d, _ in declarations_in(kernel.body_node) if name == text_of(amount)]
    values += [
        n
        for n in walk(kernel.body_node)
        if n.type == "assignment_expression" and text_of(child_of(n, "left")) == text_of(amount)
    ]
    return not any(_OF_LAUNCH.search(text_of(value)) for value in values)


def step_of(update: Node) -> Node:
    """The amount that the counter grows by, or the update where it grows by one."""
    return child_of(update, "right") if update.type == "assignment_expression" else update


def _check_ways(body: Node, loop: Node) -> None:
    """Raises CannotShare where a step may end the loop."""
    for inner in walk(body):
        if (
            inner.type not in _LEAVES
            and not inner.type.startswith("preproc")
            and inner.type != "gnu_asm_expression"
        ):
            continue
        own = inner.type == "break_statement" and any(a.type in LOOPS for a in ancestors(inner, loop))
        if not own:
            raise CannotShare(f"line {inner.start_point.row + 1} may leave it, or is not seen through")


def _only_counts(name: str, loop: Node, kernel: KernelSyntax) -> bool:
    """Whether all uses of a variable outside of a loop are in heads and bodies of loops that set it in their head."""
    for use in walk(kernel.body_node):
        if use.type != "identifier" or text_of(use) != name or _inside(use, loop) or _declares(use):
            continue
        around = (a for a in ancestors(use, kernel.body_node) if a.type == "for_statement")
        if not any(_sets(child_of(outer, "initializer"), name) for outer in around):
            return False
    return True


def _sets(start: Node, name: str) -> bool:
    plain = sets(start)
    return plain and text_of(child_of(start, "left")) == name


def _is_set(use: Node) -> bool:
    """Whether an identifier stands on the left of `=`."""
    outer = use.parent
    if outer is None:
        return False
    if outer.type == "init_declarator":
        return child_of(outer, "declarator").id == use.id
    plain = sets(outer)
    return plain and child_of(outer, "left").id == use.id


def _check_atomics(loop: Node, bases: frozenset[str], kernel: KernelSyntax) -> None:
    """Raises CannotShare where the order of a loop's atomic operations is seen: by their results, or by reading."""
    for atomic in kernel.atomics:
        if _inside(atomic.node, loop) and (atomic.statement is None or atomic.function not in _ORDERLESS):
            raise CannotShare(
                f"`{atomic.function}` on line {atomic.span.line} is for one step after the other"
            )
    seen = (s for s in kernel.subscripts if s.base in bases and s.use != "address")
    if (use := next(seen, None)) is not None:
        raise CannotShare(f"`{use.base}`, which its atomics change, is used on line {use.span.line}")


def _elements(
    loop: Node, counter: str, stored: frozenset[str], kernel: KernelSyntax
) -> tuple[tuple[str, str], ...]:
    """Base and text, with `@` for the counter, of what each step writes for itself. Raises CannotShare."""
    found: dict[str, str] = {}
    for use in kernel.subscripts:
        if use.base not in stored or not _inside(use.node, loop):
            continue
        own = len(use.indices) == 1 and use.node.type == "subscript_expression"
        index = use.indices[0]
        # What the counter is added to stays the same: else two steps may come to one element.
        steady = is_steady([index], kernel) and not (names_in(index) - {counter}) & changed_names(loop)
        if not own or not steady or not _added(index, counter):
            raise CannotShare(f"`{text_of(use.node)}` may be the same element in several steps")
        text = _with_counter(use.node, counter)
        if found.setdefault(use.base, text) != text:
            raise CannotShare(f"its steps use several elements of `{use.base}`, which they write")
    if found.keys() != stored:
        raise CannotShare("something else may be stored to in it")
    return tuple(found.items())


def _inside(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte < outer.end_byte


def _added(index: Node, counter: str) -> bool:
    """Whether the counter, perhaps times something, is one term of a sum."""
    index = bare(index)
    if index.type != "binary_expression":
        return text_of(index) == counter
    sides = [child_of(index, side) for side in ("left", "right")]
    operator = operator_of(index)
    if operator == "*":
        return any(text_of(s) == counter for s in sides) and sum(counter in names_in(s) for s in sides) == 1
    having = [s for s in sides if counter in names_in(s)]
    return operator in ("+", "-") and len(having) == 1 and _added(having[0], counter)


def _with_counter(node: Node, counter: str) -> str:
    """The text without blanks, and with `@` for the counter."""
    pieces, position, whole = [], node.start_byte, node.text or b""
    for inner in walk(node):
        if inner.type == "identifier" and text_of(inner) == counter:
            pieces += [whole[position - node.start_byte : inner.start_byte - node.start_byte], b"@"]
            position = inner.end_byte
    pieces.append(whole[position - node.start_byte :])
    return "".join(b"".join(pieces).decode("utf-8", "replace").split())


def _carried(
    body: Node,
    counter: str,
    kernel: KernelSyntax,
    types: Mapping[tuple[int, int], str],
) -> tuple[Carried, ...]:
    """What is carried from step to step, each in a way that lanes can put together. Raises CannotShare."""
    outside = _changed_outside(body, kernel)
    found: dict[str, Carried] = {}
    explained: set[int] = set()
    for statement in _statements(body):
        one = _recognised(statement, outside, counter)
        if one is None:
            continue
        if (known := found.setdefault(one.name, one)) != one:
            raise CannotShare(f"`{known.name}` is put together in two ways")
        explained |= {n.id for n in walk(statement) if n.type == "identifier"}
        taken = {one.name.split(".")[0], *(name for name, _ in one.places)}
        for other in _operands(statement, one):
            if names_in(other) & taken:
                raise CannotShare(f"`{one.name}` is used for more than being put together")
    roots = {one.name.split(".")[0] for one in found.values()} | {
        n for one in found.values() for n, _ in one.places
    }
    for name in sorted(outside - roots):
        if not _private(name, body, kernel):
            raise CannotShare(f"`{name}` is carried from step to step")
    uses = (n for n in walk(body) if n.type == "identifier" and text_of(n) in roots and n.id not in explained)
    if (use := next(uses, None)) is not None:
        raise CannotShare(
            f"`{text_of(use)}` is used on line {use.start_point.row + 1} while it is put together"
        )
    typed = []
    for one in found.values():
        kinds = {
            name: _type_of(name, body, kernel, types) for name in (one.name, *(n for n, _ in one.places))
        }
        unknown = sorted(name for name, kind in kinds.items() if not kind)
        if unknown:
            raise CannotShare(f"the type of `{unknown[0]}` is not known")
        places = tuple((name, kinds[name]) for name, _ in one.places)
        if one.kind == "sum" and (members := _members(kinds[one.name])):
            typed += [Carried(f"{one.name}.{m}", "sum", "+", members[0]) for m in members[1]]
            continue
        typed.append(Carried(one.name, one.kind, one.operator, kinds[one.name], places, one.counter))
    return tuple(typed)


def _changed_outside(body: Node, kernel: KernelSyntax) -> set[str]:
    """The variables from outside of a loop that its steps change. Raises CannotShare where a name has two meanings."""
    changed = set(reassigned_names(body))
    # Pointers: what changes one of them has no known stores. Arrays of the file are no variables of the thread.
    changed -= {p.name for p in kernel.parameters if p.pointer}
    own = {name for name, _, _ in declarations_in(kernel.body_node)}
    changed -= {s.base for s in kernel.subscripts if s.node.type == "subscript_expression"} - own
    declared = {name for name, _, _ in declarations_in(body)}
    around = {body.id, *(a.id for a in ancestors(body, kernel.body_node)), kernel.body_node.id}
    seen = {
        name
        for name, _, declaration in declarations_in(kernel.body_node)
        if not _inside(declaration, body)
        and declaration.parent is not None
        and declaration.parent.id in around
    } | {p.name for p in kernel.parameters}
    if hidden := sorted(changed & declared & seen):
        raise CannotShare(f"`{hidden[0]}` is declared in it and outside of it")
    return changed - declared


def _statements(body: Node) -> Iterator[Node]:
    """The statements of a body that may put something together, outer ones first."""
    for node in walk(body):
        if node.type in ("expression_statement", "if_statement"):
            yield node


def _recognised(statement: Node, outside: set[str], counter: str) -> Carried | None:
    """How a statement puts something into a variable from outside; None where it does something else."""
    if statement.type == "if_statement":
        return _best(statement, outside, counter)
    if statement.type != "expression_statement" or not statement.named_children:
        return None
    node = statement.named_children[0]
    if node.type == "update_expression":
        name = text_of(child_of(node, "argument"))
        return Carried(name, "sum", "+", "") if name in outside and "++" in text_of(node) else None
    if node.type != "assignment_expression":
        return None
    left, operator, right = (child_of(node, n) for n in ("left", "operator", "right"))
    key = _key(left)
    if key is None or key.split(".")[0] not in outside:
        return None
    return _put_together(key, text_of(operator), right)


def _put_together(name: str, sign: str, right: Node) -> Carried | None:
    """How an assignment puts something into a variable."""
    if sign in _SUMS:
        return Carried(name, "sum", "+", "")
    if sign in _BITS:
        return Carried(name, "bits", sign[0], "")
    if sign != "=":
        return None
    if joins(right, "+", "-"):
        sides = [text_of(child_of(right, side)) for side in ("left", "right")]
        swapped = sides[1] == name and operator_of(right) == "+"
        return Carried(name, "sum", "+", "") if sides[0] == name or swapped else None
    function = (called(right) or "").removeprefix("std::")
    arguments = [text_of(a) for a in arguments_of(right)]
    if function in ("fmaf", "fma", "__fmaf_rn") and len(arguments) == 3 and arguments[2] == name:
        return Carried(name, "sum", "+", "")
    if is_a(function, "extreme") and len(arguments) == 2 and name in arguments:
        return Carried(name, "least", text_of(child_of(right, "function")), "")
    return None


def _key(node: Node) -> str | None:
    """`sum`, or `sum.x` of a variable of the thread."""
    if node.type == "identifier":
        return text_of(node)
    if node.type == "field_expression" and operator_of(node) == ".":
        base = child_of(node, "argument")
        return f"{text_of(base)}.{text_of(child_of(node, 'field'))}" if base.type == "identifier" else None
    return None


def _best(statement: Node, outside: set[str], counter: str) -> Carried | None:
    """`if (x < best) { best = x; place = i; }`: a strict comparison, so that of equal values the first one stays."""
    condition = condition_of(statement) or statement
    if statement.child_by_field_name("alternative") is not None or condition.type != "binary_expression":
        return None
    left, operator, right = (child_of(condition, n) for n in ("left", "operator", "right"))
    sign = text_of(operator)
    if sign not in _MIRRORED:
        return None
    if right.type == "identifier" and text_of(right) in outside:
        name, value = text_of(right), text_of(left)
    elif left.type == "identifier" and text_of(left) in outside:
        name, value, sign = text_of(left), text_of(right), _MIRRORED[sign]
    else:
        return None
    taken = _taken(child_of(statement, "consequence"))
    if taken is None or taken.pop(name, None) != value or not taken.keys() <= outside:
        return None
    marks = [place for place, what in taken.items() if what == counter]
    if taken and not marks:
        return None  # which of two equal values came first is not known
    return Carried(name, "best", sign, "", tuple((place, "") for place in taken), marks[0] if marks else "")


def _taken(consequence: Node) -> dict[str, str] | None:
    """What each variable is set to by statements that only set variables."""
    inside = statements_of(only_statement(consequence))
    found: dict[str, str] = {}
    for one in inside:
        node = one.named_children[0] if one.type == "expression_statement" and one.named_children else one
        if not sets(node):
            return None
        name = text_of(child_of(node, "left"))
        if child_of(node, "left").type != "identifier" or name in found:
            return None
        found[name] = text_of(child_of(node, "right"))
    return found


def _operands(statement: Node, one: Carried) -> Iterator[Node]:
    """The expressions of a recognised statement that must not depend on what is put together."""
    if one.kind == "best":
        condition = condition_of(statement) or statement
        yield from (
            n for n in (child_of(condition, "left"), child_of(condition, "right")) if text_of(n) != one.name
        )
        for node in walk(child_of(statement, "consequence")):
            if node.type == "assignment_expression":
                yield child_of(node, "right")
        return
    node = statement.named_children[0]
    if node.type == "update_expression":
        return
    right = child_of(node, "right")
    if operator_of(node) != "=":
        yield right
    elif right.type == "binary_expression":
        yield from (s for s in (child_of(right, "left"), child_of(right, "right")) if text_of(s) != one.name)
    else:
        yield from (a for a in arguments_of(right) if text_of(a) != one.name)


def _private(name: str, body: Node, kernel: KernelSyntax) -> bool:
    """Whether each step sets a variable before it uses it, and nothing behind the loop uses what it holds."""
    if _only_counts(name, body, kernel) and all(
        any(_sets(child_of(a, "initializer"), name) for a in ancestors(n, body) if a.type == "for_statement")
        for n in walk(body)
        if n.type == "identifier" and text_of(n) == name
    ):
        return True
    uses = [n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) == name]
    inside = [n for n in uses if _inside(n, body)]
    if any(not _declares(n) for n in uses if not _inside(n, body)):
        return False
    first = inside[0].parent
    statement = first.parent if first is not None else None
    direct = statement is not None and statement.parent is not None and statement.parent.id == body.id
    return bool(direct) and _is_set(inside[0]) and name not in _used_on_the_right(first)


def _used_on_the_right(assignment: Node | None) -> frozenset[str]:
    return names_in(child_of(assignment, "right")) if assignment is not None else frozenset()


def _declares(use: Node) -> bool:
    outer = use.parent
    if outer is None:
        return False
    return outer.type == "declaration" or (
        outer.type == "init_declarator" and child_of(outer, "declarator").id == use.id
    )


_VECTORS = {"float": "float", "double": "double", "int": "int", "uint": "unsigned"}


def _members(kind: str) -> tuple[str, str] | None:
    """The type and the names of the members of a HIP vector."""
    element = _VECTORS.get(kind.rstrip("234").rstrip("_"))
    return (element, "xyzw"[: int(kind[-1])]) if element is not None and kind[-1] in "234" else None


def _type_of(key: str, body: Node, kernel: KernelSyntax, types: Mapping[tuple[int, int], str]) -> str:
    """The type of a variable or member: as the compiler says, else as it is declared; empty where it is not known."""
    for node in walk(body):
        if _key(node) == key and (told := types.get((node.start_byte, node.end_byte))) is not None:
            return told
    name, _, member = key.partition(".")
    declared = declared_type(name, kernel) or ""
    if not member:
        return declared
    vector = _members(declared)
    return vector[0] if vector is not None else ""
