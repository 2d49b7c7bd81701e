"""Which statements of a kernel belong to one output and which to all of them, where a thread computes several.

Takes a kernel and the index of workgroups along one axis, gives the statements that are repeated for each output, in
groups, the loops that stay single around them, and the names that need a value for each output. Nothing here edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import variables_set, waits_together
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    arguments_of,
    bare,
    called,
    child_of,
    declarations_in,
    joins,
    operator_of,
    takes_address,
    text_of,
    walk,
    without_value,
)
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.rules.shared.edit_helpers import INTEGER_TYPES, only_statement

Axis = str
_BARRIER = re.compile(r"\b__syncthreads\s*\(\s*\)")
_NOT_STATEMENTS = ("comment", "preproc_call")
_LEAVES = {"break_statement": (*LOOPS, "switch_statement"), "continue_statement": tuple(LOOPS)}
_ATOMIC = re.compile(r"\w*atomic\w*")


class CannotJam(Exception):
    """The reason, as a sentence without its full stop."""


@dataclass(frozen=True)
class OutputGroup:
    """Statements side by side that are done for each output, comments and pragmas among them included."""

    nodes: tuple[Node, ...]

    @property
    def statements(self) -> tuple[Node, ...]:
        """Those that are no comments and no pragmas."""
        return tuple(n for n in self.nodes if n.type not in _NOT_STATEMENTS)

    def holds(self, node: Node) -> bool:
        """Whether the node is in it."""
        return self.nodes[0].start_byte <= node.start_byte < self.nodes[-1].end_byte


@dataclass(frozen=True)
class OutputGuard:
    """`if (condition) { ... }` around the rest of the kernel, or `if (condition) return;` before it.

    `tests` are the parts of the condition that each output answers for itself.
    """

    statement: Node
    leaves: bool
    tests: tuple[Node, ...]


@dataclass(frozen=True)
class Jam:
    """A kernel whose outputs along `axis` are computed by one thread.

    `per_output` are the names whose values depend on the output; `kept` those of them that live longer than a group,
    with the declarator of each declaration.
    """

    axis: Axis
    groups: tuple[OutputGroup, ...]
    guards: tuple[OutputGuard, ...]
    loops: tuple[Node, ...]
    per_output: frozenset[str]
    kept: tuple[tuple[str, Node], ...]

    @property
    def kept_names(self) -> frozenset[str]:
        """The names of what is kept for each output."""
        return frozenset(name for name, _ in self.kept)

    def depends(self, node: Node) -> bool:
        """Whether the node has another value, or another effect, for another output."""
        return _depends(node, self.axis, self.per_output)


def jam_of(kernel: KernelSyntax, axis: Axis) -> Jam:
    """The statements by whether they depend on the number of the workgroup along the axis. Raises CannotJam."""
    names: frozenset[str] = frozenset()
    while True:
        plan = _Plan(kernel, axis, names)
        plan.block(_statements(kernel.body_node), in_loop=False)
        more = names | plan.changed()
        if more == names:
            break
        names = more
    parameters = {p.name for p in kernel.parameters}
    if wrong := sorted(names & parameters):
        raise CannotJam(f"the parameter `{wrong[0]}` is changed")
    kept = tuple(_kept(kernel, plan, names))
    return Jam(axis, tuple(plan.groups), tuple(plan.guards), tuple(plan.loops), names, kept)


def is_index(node: Node, axis: Axis) -> bool:
    """Whether the node is the number of the workgroup along the axis."""
    return node.type in ("field_expression", "identifier") and text_of(node) in indices(axis)


def indices(axis: Axis) -> tuple[str, str]:
    """How the number of the workgroup along an axis is written."""
    return (f"blockIdx.{axis}", f"hipBlockIdx_{axis}")


def _statements(block: Node) -> list[Node]:
    return [n for n in block.named_children if n.type != "{"]


def _depends(node: Node, axis: Axis, names: frozenset[str]) -> bool:
    return any(is_index(n, axis) or (n.type == "identifier" and text_of(n) in names) for n in walk(node))


class _Plan:
    """One pass over the kernel with the names that are known to depend on the output."""

    def __init__(self, kernel: KernelSyntax, axis: Axis, names: frozenset[str]) -> None:
        self.kernel, self.axis, self.names = kernel, axis, names
        self.groups: list[OutputGroup] = []
        self.guards: list[OutputGuard] = []
        self.loops: list[Node] = []
        self._closed = False  # behind the end of a guard, where its outputs are masked no longer

    def block(self, nodes: Sequence[Node], *, in_loop: bool) -> None:
        """Sorts the statements of one block."""
        run: list[Node] = []
        for node in nodes:
            if node.type in _NOT_STATEMENTS:
                run.append(node)
            elif self._each(node, in_loop=in_loop):
                self._check(node)
                run.append(node)
            else:
                self._close(run)
                run = []
        self._close(run)

    def changed(self) -> frozenset[str]:
        """What the groups change or declare: each output has its own."""
        found: set[str] = set()
        for group in self.groups:
            for statement in group.statements:
                found |= _set_by(statement, self.kernel) | _declared_at(statement)
        return frozenset(found)

    def _close(self, run: Sequence[Node]) -> None:
        """A group of these; comments and pragmas before its first statement of which it is not are left outside."""
        kept = list(run)
        while kept and kept[-1].type in _NOT_STATEMENTS and not _behind(kept[-1], kept[:-1]):
            kept.pop()
        while kept and kept[0].type == "comment":
            kept.pop(0)
        if any(n.type not in _NOT_STATEMENTS for n in kept):
            self.groups.append(OutputGroup(tuple(kept)))

    def _each(self, node: Node, *, in_loop: bool) -> bool:
        """Whether the statement is done for each output; one that is not is looked into."""
        if not self._touches(node):
            return False
        if self._closed:
            raise CannotJam(f"line {node.start_point.row + 1} stands behind a guard of the kernel")
        if node.type == "compound_statement":
            self.block(_statements(node), in_loop=in_loop)
            return False
        if node.type in ("for_statement", "while_statement", "do_statement"):
            return not self._loop(node)
        if node.type == "if_statement":
            return not self._if(node, in_loop=in_loop)
        if node.type.startswith("preproc"):
            raise CannotJam(f"line {node.start_point.row + 1} depends on a directive")
        return not self._shared_array(node)

    def _touches(self, node: Node) -> bool:
        calls = (called(n) or "" for n in walk(node) if n.type == "call_expression")
        return _depends(node, self.axis, self.names) or any(_ATOMIC.search(name) for name in calls)

    def _shared_array(self, node: Node) -> bool:
        return node.type == "declaration" and any(text_of(c) == "__shared__" for c in node.children)

    def _loop(self, loop: Node) -> bool:
        """Whether the loop takes the same steps for all outputs: then it stays one, with their statements jammed."""
        body = child_of(loop, "body")
        head = [c for c in loop.named_children if c.id != body.id and c.type != "comment"]
        if any(self._touches(part) for part in head) or body.id == loop.id:
            return False
        before = len(self.groups), len(self.loops)
        try:
            self.block(_inner(body), in_loop=True)
        except CannotJam:
            del self.groups[before[0] :], self.loops[before[1] :]
            return False
        self.loops.append(loop)
        return True

    def _if(self, node: Node, *, in_loop: bool) -> bool:
        """Whether the branches are looked into: the condition is the same for all outputs, or guards the kernel."""
        condition = child_of(node, "condition")
        consequence, other = child_of(node, "consequence"), node.child_by_field_name("alternative")
        if self._touches(condition):
            return not in_loop and other is None and self._guard(node, condition, consequence)
        if not (self._is_mixed(consequence) or any(_holds_together(n) for n in walk(node))):
            return False
        for branch in (consequence, *(other.named_children if other is not None else ())):
            self.block(_inner(branch), in_loop=in_loop)
        return True

    def _is_mixed(self, branch: Node) -> bool:
        """Whether some statements of a branch are the same for all outputs and others are not."""
        statements = [n for n in _inner(branch) if n.type not in _NOT_STATEMENTS]
        return len({self._touches(statement) for statement in statements}) > 1

    def _guard(self, node: Node, condition: Node, consequence: Node) -> bool:
        if not any(outer.type == "compound_statement" for outer in (node.parent,) if outer is not None):
            return False
        leaves = only_statement(consequence).type == "return_statement"
        whole = condition.child_by_field_name("value")
        if whole is None or not (leaves or any(n.type in LOOPS for n in walk(consequence))):
            return False
        parts = [part for part in _parts(whole, "||" if leaves else "&&") if self._touches(part)]
        for part in parts:
            if not _ordered(part, leaves, self.kernel, self.axis, self.names):
                raise CannotJam(
                    f"`{text_of(part)}` on line {part.start_point.row + 1} may hold for a later workgroup and not for"
                    " the one before"
                )
        self.guards.append(OutputGuard(node, leaves, tuple(parts)))
        if not leaves:
            self.block(_inner(consequence), in_loop=False)
            self._closed = True
        return True

    def _check(self, statement: Node) -> None:
        """Raises CannotJam where a statement cannot be repeated for each output."""
        line = statement.start_point.row + 1
        if waits_together(statement, self.kernel):
            raise CannotJam(f"the threads wait for each other in what line {line} does for one output")
        for node in walk(statement):
            if node.type == "return_statement":
                raise CannotJam(f"the `return` on line {node.start_point.row + 1} depends on the output")
            around = _LEAVES.get(node.type)
            if around is not None and not _stays(node, statement, around):
                raise CannotJam(f"a loop ends, or goes on, by the output on line {node.start_point.row + 1}")


def _holds_together(node: Node) -> bool:
    return node.type in LOOPS or _BARRIER.match(text_of(node)) is not None


def _inner(branch: Node) -> list[Node]:
    return _statements(branch) if branch.type == "compound_statement" else [branch]


def _behind(comment: Node, before: Sequence[Node]) -> bool:
    """Whether a comment stands behind the last of these on its line."""
    return (
        comment.type == "comment"
        and bool(before)
        and comment.start_point.row == before[-1].end_point.row
        and before[-1].type not in _NOT_STATEMENTS
    )


def _stays(leave: Node, statement: Node, around: tuple[str, ...]) -> bool:
    """Whether what a `break` or `continue` belongs to is part of the statement."""
    if statement.type in around:
        return True
    return any(outer.type in around for outer in ancestors(leave, statement))


def _declared_at(statement: Node) -> set[str]:
    if statement.type != "declaration":
        return set()
    return {name for name, _, at in declarations_in(statement) if at.id == statement.id}


def _set_by(statement: Node, kernel: KernelSyntax) -> set[str]:
    """The variables around a statement that it may change; elements behind pointers are none."""
    inner = [(n, at) for n, _, at in declarations_in(statement) if at.id != statement.id]
    changes = [*_changes(statement), *_counted(statement, kernel)]
    found = {text_of(n) for n in changes if not any(_means(n, name, at) for name, at in inner)}
    unseen = variables_set(statement) - {text_of(n) for n in changes} - {name for name, _ in inner}
    return set(unseen) | {n for n in found if not _is_pointer(n, kernel) or _assigned_whole(n, statement)}


def _means(use: Node, name: str, declaration: Node) -> bool:
    """Whether a name is that of a declaration in a block around it."""
    block = declaration.parent
    return (
        text_of(use) == name
        and block is not None
        and declaration.start_byte <= use.start_byte < block.end_byte
    )


def _changes(node: Node) -> Iterator[Node]:
    """The names whose variables, or what they point to, are assigned, stepped, or given to others to change."""
    for inner in walk(node):
        if inner.type in ("assignment_expression", "update_expression"):
            yield from _root(inner.child_by_field_name("left") or child_of(inner, "argument"))
        elif takes_address(inner):
            yield from _root(child_of(inner, "argument"))
        elif inner.type == "call_expression" and _exchanges(inner):
            for argument in arguments_of(inner):
                yield from _root(argument)


def _counted(statement: Node, kernel: KernelSyntax) -> Iterator[Node]:
    """The arrays of the kernel that atomics change by an address: `counts` of `atomicAdd(counts + bin, 1)`."""
    arrays = {
        name
        for name, declarator, _ in declarations_in(kernel.body_node)
        if any(n.type == "array_declarator" for n in walk(declarator))
    }
    for call in walk(statement):
        if call.type == "call_expression" and _ATOMIC.fullmatch(called(call) or ""):
            names = (name for place in arguments_of(call)[:1] for name in _outside_of_indices(place))
            yield from (name for name in names if text_of(name) in arrays)


def _outside_of_indices(address: Node) -> Iterator[Node]:
    """The names that an address is made of: `counts` and `bin` of `counts + bin`, `counts` of `&counts[bin]`."""
    if address.type == "identifier":
        yield address
    for child in address.named_children:
        if child.type != "subscript_argument_list":
            yield from _outside_of_indices(child)


def _exchanges(call: Node) -> bool:
    """Whether a call may set its arguments: the program's own functions that do are opaque, the libraries' few."""
    name = called(call) or ""
    return "::" in name.removeprefix("std::") or name.rpartition("::")[2] in ("swap", "exchange", "iter_swap")


def _root(target: Node) -> Iterator[Node]:
    """The variable that an expression is a part of; `p` of `p[i].x`."""
    while target.type in ("subscript_expression", "field_expression", "parenthesized_expression"):
        target = target.named_children[0]
    if target.type == "identifier":
        yield target


def _is_pointer(name: str, kernel: KernelSyntax) -> bool:
    parameter = kernel.parameter(name)
    if parameter is not None:
        return parameter.pointer
    declared = [d for n, d, _ in declarations_in(kernel.body_node) if n == name]
    return not declared or any(_points(d) for d in declared)


def _points(declarator: Node) -> bool:
    inner = without_value(declarator)
    return inner.type in ("pointer_declarator", "reference_declarator")


def _assigned_whole(name: str, statement: Node) -> bool:
    """Whether the name itself is assigned or stepped, as `p += n` does to a pointer."""
    for node in walk(statement):
        if node.type in ("assignment_expression", "update_expression"):
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if target is not None and target.type == "identifier" and text_of(target) == name:
                return True
    return False


def _kept(kernel: KernelSyntax, plan: _Plan, names: frozenset[str]) -> Iterator[tuple[str, Node]]:
    """The names with a value for each output that are used outside of the group that declares them."""
    declared: dict[str, list[tuple[Node, Node]]] = {}
    for name, declarator, at in declarations_in(kernel.body_node):
        declared.setdefault(name, []).append((declarator, at))
    for name in sorted(names):
        if name not in declared:
            raise CannotJam(f"`{name}` is changed and is no variable of the kernel")
        homes = [next((g for g in plan.groups if g.holds(at)), None) for _, at in declared[name]]
        uses = [n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) == name]
        if all(home is not None for home in homes) and all(
            any(home is not None and home.holds(use) for home in homes) for use in uses
        ):
            continue
        for declarator, at in declared[name]:
            group = next((g for g in plan.groups if g.holds(at)), None)
            top = {s.id for s in group.statements} if group is not None else {at.id}
            if at.id not in top or at.parent is None or at.parent.type != "compound_statement":
                raise CannotJam(f"`{name}` is declared inside what is done for one output, and used outside")
            yield name, declarator


def _parts(condition: Node, operator: str) -> list[Node]:
    """The operands of `a && b && c`."""
    condition = bare(condition)
    if not joins(condition, operator):
        return [condition]
    return [part for side in ("left", "right") for part in _parts(child_of(condition, side), operator)]


_BELOW = {"<": ("left", "right"), "<=": ("left", "right"), ">": ("right", "left"), ">=": ("right", "left")}


def _ordered(test: Node, leaves: bool, kernel: KernelSyntax, axis: Axis, names: frozenset[str]) -> bool:
    """Whether a test that holds for one workgroup holds for all before it (that leaves: for all behind it)."""
    sides = _BELOW.get(operator_of(test))
    if sides is None or test.type != "binary_expression":
        return False
    value, bound = (child_of(test, side) for side in (reversed(sides) if leaves else sides))
    return not _depends(bound, axis, names) and _Growing(kernel, axis, names).grows(value)


_NOT_NEGATIVE = re.compile(
    r"(blockIdx|blockDim|threadIdx|gridDim)\.[xyz]|hip(BlockIdx|BlockDim|ThreadIdx|GridDim)_[xyz]|\d+[uU]?"
)


@dataclass(frozen=True)
class _Growing:
    """What never falls from one workgroup to the next. Numbers of threads fit their types: HIP bounds a grid."""

    kernel: KernelSyntax
    axis: Axis
    names: frozenset[str]

    def grows(self, node: Node) -> bool:
        """Whether an integer never falls."""
        if is_index(node, self.axis):
            return True
        if (inner := self._same_number(node)) is not None:
            return self.grows(inner)
        if node.type != "binary_expression":
            return False
        left, right = child_of(node, "left"), child_of(node, "right")
        operator, grown = operator_of(node), (self.grows(left), self.grows(right))
        counted = self._counts(left), self._counts(right)
        if operator == "+":
            return any(grown) and all(g or c for g, c in zip(grown, counted, strict=True))
        return operator == "*" and ((grown[0] and counted[1]) or (counted[0] and grown[1]))

    def _counts(self, node: Node) -> bool:
        """A number that is never negative, and the same for all workgroups along the axis."""
        text = text_of(node)
        if _depends(node, self.axis, self.names):
            return False
        if _NOT_NEGATIVE.fullmatch(text) is not None:
            return True
        if (inner := self._same_number(node)) is not None:
            return self._counts(inner)
        if joins(node, "+", "*"):
            return self._counts(child_of(node, "left")) and self._counts(child_of(node, "right"))
        return (known := self._constant(text)) is not None and _NOT_NEGATIVE.fullmatch(known) is not None

    def _same_number(self, node: Node) -> Node | None:
        """What a name, parentheses or a cast to a whole number stand for."""
        if node.type == "identifier":
            return self._only_value(text_of(node))
        if node.type == "parenthesized_expression":
            return node.named_children[0]
        if node.type == "cast_expression" and text_of(child_of(node, "type")) in INTEGER_TYPES:
            return child_of(node, "value")
        return None

    def _constant(self, name: str) -> str | None:
        """The text of a constant or a macro of the file."""
        root = self.kernel.body_node
        while root.parent is not None:
            root = root.parent
        known = self.kernel.through.constants.get(name) or _defined(root, name)
        return None if known is None else text_of(known).strip().strip("()")

    def _only_value(self, name: str) -> Node | None:
        """What a variable is declared with, where nothing else changes it."""
        declared = [d for n, d, _ in declarations_in(self.kernel.body_node) if n == name]
        changed = any(text_of(n) == name for n in _changes(self.kernel.body_node))
        return declared[0].child_by_field_name("value") if len(declared) == 1 and not changed else None


def _defined(root: Node, name: str) -> Node | None:
    """The value of a macro of the file."""
    found = [
        child_of(n, "value")
        for n in walk(root)
        if n.type == "preproc_def" and text_of(child_of(n, "name")) == name
    ]
    return found[0] if len(found) == 1 else None
