"""Which statements of a step decide what it loads: a backward slice from its loads to its beginning.

Takes the statements before a point in a loop and the loads that are wanted early, gives the lines that make these loads
alone, and the names whose values at the beginning of the step they need. Statements keep their order and conditions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.nodes import (
    BARRIERS,
    ancestors,
    arguments_of,
    called,
    child_of,
    names_in,
    operator_of,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.rules.shared.edit_helpers import is_pure, negated

_IGNORED = frozenset({"comment", "preproc_call"})
# What evaluates its operands whatever their values are: a load below is made whenever the statement is.
_ALWAYS = frozenset(
    {"parenthesized_expression", "unary_expression", "cast_expression", "argument_list", "initializer_list"}
)

_GUARDED = re.compile(r"(if \(.*\)) \w+ = .*;")


class CannotSlice(Exception):
    """Why the loads cannot be made apart from the rest of the step, as the end of a sentence about the loop."""


@dataclass
class Slice:
    """The slice while it grows, from its end: `needed` are names whose values it uses at the place it has reached.

    `loads` maps the ids of the wanted loads to the names of the variables they go into; `within` are those that turn
    out to be a part of the slice themselves, `assigned` are variables from outside that it sets. `reads_only` says
    whether an element is the same in the whole launch. `declarations` are those that it has, the last one first;
    `comments` go with them, by their ids.
    """

    kernel: KernelSyntax
    loads: Mapping[int, str]
    reads_only: Callable[[Node], bool]
    step: str
    comments: Mapping[int, Sequence[str]] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    within: set[int] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    declarations: list[Node] = field(default_factory=list)

    def use(self, expression: Node) -> None:
        """The slice computes this expression. Raises CannotSlice when that is not the same at another time."""
        if not is_pure(expression, self.kernel):
            raise CannotSlice(f"finds out by `{squeeze(text_of(expression))}` where it loads")
        for node in walk(expression):
            elsewhere = node.type == "pointer_expression" or "->" in (c.type for c in node.children)
            if elsewhere or (node.type == "subscript_expression" and not self.reads_only(node)):
                raise CannotSlice(
                    f"reads `{squeeze(text_of(node))}`, which may change, to know where it loads"
                )
        self.needed |= names_in(expression)

    def lines(self, statements: Sequence[Node], *, always: bool = True) -> list[str]:
        """The lines of these statements that the slice has. `always`: whenever the step is begun, they all run."""
        kept = [self._of_statement(statement, always=always) for statement in reversed(statements)]
        return merged([line for lines in reversed(kept) for line in lines], self.step)

    def _of_statement(self, statement: Node, *, always: bool) -> list[str]:
        if statement.type in _IGNORED:
            return []
        if statement.type == "if_statement":
            return self._branch(statement)
        if statement.type == "compound_statement":
            declared = len(self.declarations)
            inside = self._arm(statement)
            if len(self.declarations) == declared:  # nothing that the block would hide
                return inside
            return ["{", *(self.step + line for line in inside), "}"]
        loads = self._loads_in(statement)
        if not self._wanted(statement):
            return [line for load in loads for line in self._load(load, statement)]
        self.within |= {load.id for load in loads}
        if statement.type == "declaration":
            return self._declaration(statement)
        return self._assignment(statement, always=always)

    def _loads_in(self, statement: Node) -> list[Node]:
        if statement.type not in ("expression_statement", "declaration"):
            return []
        return [node for node in walk(statement) if node.id in self.loads]

    def _wanted(self, statement: Node) -> bool:
        return bool(changed_names(statement) & self.needed)

    def _load(self, load: Node, statement: Node) -> list[str]:
        """The load alone, below the conditions that choose it inside its statement."""
        asked: list[str] = []
        child = load
        for outer in ancestors(load, statement):
            if outer.type == "conditional_expression" and child.id != child_of(outer, "condition").id:
                condition = child_of(outer, "condition")
                self.use(condition)
                holds = child.id == child_of(outer, "consequence").id
                asked.insert(0, _closed(condition) if holds else negated(condition, self.kernel))
            child = outer
        self.needed |= names_in(child_of(load, "argument"))
        for index in child_of(load, "indices").named_children:
            self.use(index)
        line = f"{self.loads[load.id]} = {squeeze(text_of(load))};"
        return [f"if ({_joined(asked)}) {line}" if asked else line]

    def _branch(self, statement: Node) -> list[str]:
        """The parts of a branch that the slice has, below the same conditions."""
        condition, other = child_of(statement, "condition"), statement.child_by_field_name("alternative")
        others = [n for n in other.named_children if n.type != "comment"] if other is not None else []
        after = self._arm(others[0]) if others else []
        inside = self._arm(child_of(statement, "consequence"))
        if changed_names(condition) & self.needed:
            raise CannotSlice(
                f"changes what its loads depend on in a condition, on line {statement.start_point.row + 1}"
            )
        if not inside and not after:
            return []
        value = condition.child_by_field_name("value")
        constant = any(child.type == "constexpr" for child in statement.children)
        if value is None or value.type == "declaration" or constant:
            raise CannotSlice("declares something in a condition of a load")
        self.use(value)
        if inside and after and changed_names(child_of(statement, "consequence")) & names_in(value):
            raise CannotSlice(f"changes the condition of a load, on line {statement.start_point.row + 1}")
        # Two branches: the sides of one would store to their variables through one pointer, and so into scratch memory.
        yes, no = squeeze(text_of(value)), negated(value, self.kernel)
        return [*_guarded(yes, inside, self.step), *_guarded(no, after, self.step)]

    def _arm(self, arm: Node) -> list[str]:
        inner = arm.named_children if arm.type == "compound_statement" else [arm]
        begun = set(self.needed)
        lines = self.lines(inner, always=False)
        self.needed |= begun
        return lines

    def _declaration(self, statement: Node) -> list[str]:
        """A declaration that the slice needs, whole."""
        for declarator in reversed(statement.children_by_field_name("declarator")):
            if declarator.type == "init_declarator":
                if child_of(declarator, "declarator").type != "identifier":
                    raise CannotSlice(f"declares `{squeeze(text_of(declarator))}` to know where it loads")
                self._declares(text_of(child_of(declarator, "declarator")))
                self.use(child_of(declarator, "value"))
            elif declarator.type == "identifier":
                self._declares(text_of(declarator))
            else:
                raise CannotSlice(f"declares `{squeeze(text_of(declarator))}` to know where it loads")
        self.declarations.append(statement)
        return [*self.comments.get(statement.id, ()), _one_line(statement)]

    def _declares(self, name: str) -> None:
        self.needed.discard(name)
        self.assigned.discard(name)

    def _assignment(self, statement: Node, *, always: bool) -> list[str]:
        """An assignment to a variable that the slice needs."""
        change = statement.named_children[0] if statement.type == "expression_statement" else statement
        if change.type == "update_expression" and child_of(change, "argument").type == "identifier":
            self.assigned.add(text_of(child_of(change, "argument")))
            return [_one_line(statement)]
        target = child_of(change, "left")
        if change.type != "assignment_expression" or target.type != "identifier":
            raise CannotSlice(
                f"changes what its loads depend on in a way that is not read, on line {statement.start_point.row + 1}"
            )
        self.assigned.add(text_of(target))
        if always and operator_of(change) == "=":
            self.needed.discard(text_of(target))
        self.use(child_of(change, "right"))
        return [_one_line(statement)]


def can_be_made_early(load: Node, statement: Node) -> bool:
    """Whether it is certain from the statement alone when the load is made."""
    child = load
    for outer in ancestors(load, statement):
        if outer.type == "conditional_expression":
            if child.id == child_of(outer, "condition").id:
                return False
        elif outer.type == "assignment_expression":
            if child.id != child_of(outer, "right").id or operator_of(outer) != "=":
                return False
        elif outer.type == "binary_expression":
            if operator_of(outer) in ("&&", "||"):
                return False
        elif outer.type == "call_expression":
            if child.id == child_of(outer, "function").id:
                return False
        elif outer.type not in _ALWAYS and outer.type != "init_declarator":
            return False
        child = outer
    return True


def top_level_barriers(statements: Iterable[Node]) -> Iterator[int]:
    """The places of the workgroup barriers among these statements."""
    for number, statement in enumerate(statements):
        if statement.type != "expression_statement" or len(statement.named_children) != 1:
            continue
        call = statement.named_children[0]
        if called(call) in BARRIERS and not arguments_of(call):
            yield number


def merged(lines: list[str], step: str) -> list[str]:
    """One block for loads below the same condition."""
    merged: list[str] = []
    for asked, group in groupby(lines, lambda line: m[1] if (m := _GUARDED.fullmatch(line)) else ""):
        same = list(group)
        if not asked or len(same) == 1:
            merged += same
        else:
            merged += [f"{asked} {{", *(step + line[len(asked) + 1 :] for line in same), "}"]
    return merged


def _guarded(asked: str, inside: list[str], step: str) -> list[str]:
    """The lines below a condition; those of a single branch below both conditions at once."""
    if not inside:
        return []
    if len(inside) == 1 and not inside[0].startswith("if"):
        return [f"if ({asked}) {inside[0]}"]
    if inside[0].startswith("if (") and (len(inside) == 1 or _is_one_block(inside, step)):
        end = _end_of_condition(inside[0])
        both = f"if ({_term(asked)} && {_term(inside[0][4:end])}{inside[0][end:]}"
        if len(both) <= _LONGEST:
            return [both, *inside[1:]]
    return [f"if ({asked}) {{", *(step + line for line in inside), "}"]


_LONGEST = 100  # characters of a line with two conditions, before it is indented
_WEAKER = re.compile(r"\|\||[?,]|(?<![=!<>])=(?!=)")  # than `&&`


def _is_one_block(lines: list[str], step: str) -> bool:
    return lines[-1] == "}" and all(line.startswith(step) for line in lines[1:-1])


def _end_of_condition(line: str) -> int:
    """Where the parenthesis of `if (...` is closed."""
    depth = 0
    for at, character in enumerate(line):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ")" and depth == 0:
            return at
    return len(line)


def _term(condition: str) -> str:
    return f"({condition})" if _WEAKER.search(condition) else condition


def _closed(condition: Node) -> str:
    weak = condition.type in ("conditional_expression", "binary_expression", "assignment_expression")
    text = squeeze(text_of(condition))
    return f"({text})" if weak else text


def _joined(asked: list[str]) -> str:
    only = asked[0]
    if len(asked) == 1:
        return only[1:-1] if only.startswith("(") and only.endswith(")") and only.count("(") == 1 else only
    return " && ".join(asked)


def _one_line(statement: Node) -> str:
    text = text_of(statement)
    if "//" in text or "#" in text or "/*" in text:
        raise CannotSlice(f"has a comment inside the statement on line {statement.start_point.row + 1}")
    return squeeze(text)
