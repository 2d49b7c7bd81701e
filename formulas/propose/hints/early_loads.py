"""What a step of a loop loads from places that are known before it begins: elements, and the values that say where.

Takes a counted loop, gives the loads and the values that they need, in their order. An element counts if no step stores
to it (or only this step, at its end), if its index is computed from the counter, from what stays the same, from locals
of the step and from other such elements, and if the conditions around it are: then it is loaded under the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changes, reassigned_names
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    arguments_of,
    built_in,
    child_of,
    joins,
    names_in,
    operator_of,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import spelled_element
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop, continue_guard
from hipscope.formulas.propose.rules.shared.edit_helpers import is_pure

_MOST_LEVELS = 2  # loads that wait for others: an index that is loaded, and the element there
_COMPUTES = frozenset(
    {
        "number_literal", "char_literal", "true", "false", "binary_expression", "unary_expression",
        "parenthesized_expression", "conditional_expression", "cast_expression", "sizeof_expression",
        "type_descriptor", "primitive_type", "sized_type_specifier", "type_identifier", "comment",
    }
)  # fmt: skip
_NUMBERS = ("primitive_type", "sized_type_specifier", "type_identifier", "placeholder_type_specifier")


@dataclass(frozen=True)
class Guard:
    """A condition, and whether it has to hold or not to."""

    condition: Node
    holds: bool

    @property
    def text(self) -> str:
        """It, to be compared with others."""
        return f"{self.holds} {text_of(self.condition)}"


@dataclass(frozen=True)
class EarlyValue:
    """A local of a step that is computed beforehand."""

    name: str
    type: str
    value: Node
    level: int


@dataclass(frozen=True)
class EarlyLoad:
    """An element that is loaded beforehand, by its text; `written`: the step stores to it at its end.

    `level` counts the loads that have to come before, `type` is that of the element.
    """

    base: str
    type: str
    uses: tuple[Subscript, ...]
    guards: tuple[Guard, ...]
    level: int
    written: bool

    @property
    def text(self) -> str:
        """As it stands in the step."""
        return text_of(self.uses[0].node)

    @property
    def stem(self) -> str:
        """What names of it begin with: `data` of `grid.data`."""
        return self.base.rpartition(".")[2]


Early = EarlyValue | EarlyLoad


def early_loads(kernel: KernelSyntax, loop: SteppedLoop) -> tuple[Early, ...]:
    """The loads and values, in an order in which they can be made; those of one level need only lower ones."""
    if loop.memory.stored is None:
        return ()
    reader = _Reader(kernel, loop)
    for item in sorted(reader.items(), key=lambda n: (_node(n).end_byte, -_node(n).start_byte)):
        reader.take(item)
    return reader.result()


def _node(item: Subscript | Node) -> Node:
    return item.node if isinstance(item, Subscript) else item


class _Reader:
    """Goes through a step once, from its first operation to the last."""

    def __init__(self, kernel: KernelSyntax, loop: SteppedLoop) -> None:
        self._kernel, self._loop, self._memory = kernel, loop, loop.memory
        self._values: dict[str, EarlyValue] = {}
        self._loads: dict[tuple[str, tuple[str, ...]], EarlyLoad] = {}
        self._leaves = [s for s in loop.statements if continue_guard(s) is not None]
        listed = [change for statement in loop.statements for change in changes(statement)]
        self._declared = Counter(change.name for change in listed if change.declared)
        self._moved = reassigned_names(*loop.statements)
        self._outer = _names_around(kernel, loop)

    def items(self) -> Iterator[Subscript | Node]:
        """The elements that a step reads, and the locals that it declares."""
        yield from self._memory.subscripts
        for statement in self._loop.statements:
            for node in walk(statement):
                if node.type == "declaration" and not any(
                    o.type in LOOPS for o in ancestors(node, self._loop.node)
                ):
                    yield node

    def take(self, item: Subscript | Node) -> None:
        """Remember what can be made beforehand."""
        if isinstance(item, Subscript):
            self._take_load(item)
        else:
            self._take_value(item)

    def result(self) -> tuple[Early, ...]:
        """The loads, and the values that they need."""
        merged: list[EarlyLoad] = []
        for load in sorted(self._loads.values(), key=lambda load: len(load.guards)):
            wider = (n for n, other in enumerate(merged) if other.text == load.text and _under(other, load))
            number = next(wider, None)
            if number is None:
                merged.append(load)
            else:
                merged[number] = replace(merged[number], uses=merged[number].uses + load.uses)
        needed: dict[str, EarlyValue] = {}
        left = [name for load in merged for node in read_by(load) for name in names_in(node)]
        while left:
            name = left.pop()
            if name in self._values and name not in needed:
                needed[name] = self._values[name]
                left += names_in(self._values[name].value)
        values = [value for name, value in self._values.items() if name in needed]
        return tuple(sorted([*values, *merged], key=lambda e: (e.level, isinstance(e, EarlyLoad))))

    def _take_value(self, declaration: Node) -> None:
        declared = declaration.children_by_field_name("declarator")
        kind = child_of(declaration, "type")
        if len(declared) != 1 or declared[0].type != "init_declarator" or kind.type not in _NUMBERS:
            return
        named, value = child_of(declared[0], "declarator"), child_of(declared[0], "value")
        type_ = text_of(kind)
        if named.type == "pointer_declarator" and declaration.id in self._kernel.through.names:
            named, type_ = child_of(named, "declarator"), "auto"  # a place in what the kernel was given
        name = text_of(named)
        if named.type != "identifier" or value.type in ("initializer_list", "argument_list"):
            return
        if not self._is_constant(name, declaration) or any(
            text_of(c) in ("static", "volatile", "__shared__", "extern") for c in declaration.children
        ):
            return
        guards = self._guards(declaration)
        level = self._level(value, guards) if guards is not None else None
        if level is None or (guards and any(text_of(n) in ("/", "%") for n in walk(value))):
            return
        self._values[name] = EarlyValue(name, type_, value, level)

    def _is_constant(self, name: str, declaration: Node) -> bool:
        """Whether a local of the step keeps its value, and its name means nothing else in the step."""
        if self._declared[name] != 1 or name in self._moved | self._memory.references:
            return False
        if name not in self._outer:
            return True
        first = not any(
            name in names_in(node)
            for statement in self._loop.statements
            for node in walk(statement)
            if node.end_byte <= declaration.start_byte
        )
        return first and any(declaration.id == s.id for s in self._loop.statements)

    def _take_load(self, subscript: Subscript) -> None:
        base, memory = subscript.base, self._memory
        guards = self._guards(subscript.node)
        if guards is None or base not in memory.pointers or names_in(subscript.node) & memory.references:
            return
        changed = memory.changed - self._values.keys()
        if names_in(subscript.node) & changed - {self._loop.counter}:
            return
        levels = [self._level(index, guards) for index in subscript.indices]
        known = [level for level in levels if level is not None]
        if not levels or len(known) < len(levels) or max(known) > _MOST_LEVELS:
            return
        guarded = self._guard_level(guards)
        if guarded is None:
            return
        read = subscript.use == "read" and memory.keeps(base)
        if not read and not self._is_own(subscript, guards):
            return
        # Of an element that the step stores to, all uses are those of its new value.
        uses = (subscript,) if read else tuple(s for s in memory.subscripts if s.base == base)
        element = spelled_element(base, memory.pointers[base], self._kernel)
        load = EarlyLoad(base, element, uses, guards, max([*known, guarded]), not read)
        key = (load.text, tuple(g.text for g in guards))
        before = self._loads.get(key)
        if before is None or not read:
            self._loads[key] = load
        else:
            self._loads[key] = replace(before, uses=(*before.uses, subscript))

    def _guard_level(self, guards: tuple[Guard, ...]) -> int | None:
        """After which loads all conditions can be asked; None where one cannot."""
        level = 0
        for number, guard in enumerate(guards):
            found = self._level(guard.condition, guards[:number])
            if found is None:
                return None
            level = max(level, found)
        return level

    def _guards(self, node: Node) -> tuple[Guard, ...] | None:
        """The conditions under which a step comes to a node, outermost first; None in another loop."""
        found: list[Guard] = []
        inner = node
        for outer in ancestors(node, self._loop.node):
            chosen = any(c.type == "constexpr" for c in outer.children)  # by the compiler
            if outer.type in LOOPS or outer.type in ("switch_statement", "lambda_expression") or chosen:
                return None
            found += _asked(outer, inner)
            inner = outer
        left = [
            Guard(c, False)
            for s in self._leaves
            if (c := continue_guard(s)) is not None and s.end_byte <= node.start_byte
        ]
        return (*left, *reversed(found))

    def _level(self, node: Node, guards: tuple[Guard, ...]) -> int | None:
        """After how many loads one after the other an expression is known; None when it is not before the step."""
        loaded = self._loaded(text_of(node), guards)
        if loaded is not None:
            return loaded + 1
        if node.type == "identifier":
            name = text_of(node)
            if name in self._values:
                return self._values[name].level
            steady = name == self._loop.counter or name not in self._memory.changed | self._memory.references
            return 0 if steady else None
        if node.type == "field_expression":
            if built_in(text_of(node)) is not None:
                return 0
            return None if "->" in text_of(node) else self._level(child_of(node, "argument"), guards)
        parts: list[Node] = []
        if node.type == "call_expression":
            if not is_pure(node, self._kernel):
                return None
            parts = list(arguments_of(node))
        elif node.type in _COMPUTES:
            parts = node.named_children
        else:
            return None
        levels = [self._level(part, guards) for part in parts]
        known = [level for level in levels if level is not None]
        return max(known, default=0) if len(known) == len(levels) else None

    def _loaded(self, text: str, guards: tuple[Guard, ...]) -> int | None:
        """The level of an element that is loaded under no more conditions than these."""
        allowed = [g.text for g in guards]
        found = [
            load.level
            for (known, asked), load in self._loads.items()
            if known == text and not load.written and all(g in allowed for g in asked)
        ]
        return max(found, default=None)

    def _is_own(self, subscript: Subscript, guards: tuple[Guard, ...]) -> bool:
        """Whether only this step reads and stores the element, each time: the only one of its array."""
        base, memory = subscript.base, self._memory
        uses = [s for s in memory.subscripts if s.base == base]
        stored = memory.stored or frozenset()
        bases = {s.base for s in memory.subscripts if s.base in memory.pointers}
        if guards or self._leaves or base not in stored - memory.atomic or base in memory.changed:
            return False
        if any(text_of(s.node) != text_of(subscript.node) or s.use == "address" for s in uses):
            return False
        always = [s for s in uses if self._guards(s.node) == ()]
        first = min(uses, key=_done)
        begins = first.use != "write" and any(s.node.id == first.node.id for s in always)
        apart = base in memory.alone or bases == {
            base
        }  # its store moves behind the loads of the others in its step
        others = stored - {base} <= memory.disjoint or base in memory.alone
        is_stored = any(s.use != "read" for s in always)
        one = len(subscript.indices) == 1 and self._is_step(subscript.indices[0])
        return begins and apart and others and is_stored and one

    def _is_step(self, index: Node) -> bool:
        """Each step has an index of its own: the counter, alone or with something that stays."""
        terms, found = [index], 0
        while terms:
            term = terms.pop()
            name = text_of(term)
            if term.type == "parenthesized_expression" and term.named_children:
                terms.append(term.named_children[0])
            elif joins(term, "+"):
                terms += [child_of(term, "left"), child_of(term, "right")]
            elif name in self._values:
                terms.append(self._values[name].value)
            elif name == self._loop.counter:
                found += 1
            elif self._loop.counter in names_in(term) or names_in(term) & self._memory.changed:
                return False
        return found == 1


def _names_around(kernel: KernelSyntax, loop: SteppedLoop) -> frozenset[str]:
    """The names that the kernel declares outside of the loop, where the loop can see them."""
    found = {p.name for p in kernel.parameters}
    around = {node.id for node in ancestors(loop.node, kernel.body_node)} | {kernel.body_node.id}
    for node in walk(kernel.body_node):
        if node.type == "declaration" and node.parent is not None and node.parent.id in around:
            for declarator in node.children_by_field_name("declarator"):
                found |= names_in(declarator)
    return frozenset(found)


def _asked(outer: Node, inner: Node) -> list[Guard]:
    """The condition that is asked in `outer` before `inner`, a part of it, is done."""
    if outer.type in ("if_statement", "conditional_expression"):
        condition = child_of(outer, "condition")
        asked = child_of(condition, "value") if outer.type == "if_statement" else condition
        if inner.id == condition.id:
            return []
        return [Guard(asked, inner.id == child_of(outer, "consequence").id)]
    if outer.type == "binary_expression" and inner.id == child_of(outer, "right").id:
        operator = operator_of(outer)
        if operator in ("&&", "||"):
            return [Guard(child_of(outer, "left"), operator == "&&")]
    return []


def _under(wide: EarlyLoad, narrow: EarlyLoad) -> bool:
    """Whether one is loaded wherever the other is."""
    return {g.text for g in wide.guards} <= {g.text for g in narrow.guards}


def _done(subscript: Subscript) -> tuple[int, bool]:
    """When a use happens: what is assigned is computed before it is stored."""
    around = subscript.node.parent
    while around is not None and around.type in ("parenthesized_expression", "field_expression"):
        around = around.parent
    late = subscript.use == "write" and around is not None
    return (around.end_byte if late and around is not None else subscript.node.end_byte), late


def read_by(load: EarlyLoad) -> list[Node]:
    """What has to be known to make a load."""
    return [load.uses[0].node, *load.uses[0].indices, *(g.condition for g in load.guards)]


def by_level(early: tuple[Early, ...]) -> Mapping[int, list[Early]]:
    """What can be made at the same time, the first ones first."""
    found: dict[int, list[Early]] = {}
    for one in early:
        found.setdefault(one.level, []).append(one)
    return found
