"""What the steps of a loop do to memory: which pointers they store through, which elements stay as they are.

Takes the statements of one step, the kernel and its recorded launches. Where something else than a subscript or an
atomic may store, nothing is said to stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, changed_once_declared
from hipscope.analysis.source.array_accesses import pointer_of
from hipscope.analysis.source.nodes import arguments_of, child_of, declared_name, is_within, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of


@dataclass(frozen=True)
class LoopMemory:
    """`changed` are the names that a step declares or changes, `references` those that stand for something else.

    `stored` are the pointers that a step stores through; None where that is not known. `atomic` are those that it
    changes by atomics. Nothing else leads to where the `promised` ones do, nor did it to where the `disjoint` ones do
    in the recorded launches; `pointers` are all that the kernel was given, with their element types.
    """

    changed: frozenset[str]
    references: frozenset[str]
    subscripts: tuple[Subscript, ...]
    stored: frozenset[str] | None
    atomic: frozenset[str]
    promised: frozenset[str]
    disjoint: frozenset[str]
    pointers: Mapping[str, str]

    @property
    def alone(self) -> frozenset[str]:
        """The pointers that have what they lead to for themselves."""
        return self.promised | self.disjoint

    def keeps(self, base: str) -> bool:
        """Whether no step stores to what this pointer leads to."""
        if self.stored is None or base not in self.pointers or base in self.stored | self.changed:
            return False
        return base in self.alone or self.stored <= self.disjoint

    def reads_only(self, node: Node) -> bool:
        """Whether an element has the same value whenever a step reads it at the same index."""
        known = [s for s in self.subscripts if s.node.id == node.id]
        base = text_of(child_of(node, "argument"))
        if known:
            return known[0].whole and self.keeps(known[0].base)
        return self.keeps(base)


def memory_of(kernel: KernelSyntax, facts: LaunchFacts, statements: tuple[Node, ...]) -> LoopMemory:
    """What these statements of a loop do to memory."""
    inside = tuple(s for s in kernel.subscripts if _within(s.node, statements))
    pointers = pointers_of(kernel, facts)
    promised = frozenset(p.name for p in kernel.parameters if p.pointer and "restrict" in p.type)
    volatile = {p.name for p in kernel.parameters if "volatile" in p.type}
    references = frozenset(
        name
        for node in walk(kernel.body_node)
        if node.type == "reference_declarator"
        for name in (text_of(n) for n in walk(node) if n.type == "identifier")
    )
    return LoopMemory(
        # A step that changes one of these pointers itself, and not what it leads to, has no `stored`.
        changed=frozenset(name for statement in statements for name in changed_names(statement))
        - pointers.keys()
        | kernel.state,
        references=references,
        subscripts=inside,
        stored=None if volatile else _stored(kernel, statements, inside, frozenset(pointers), references),
        atomic=frozenset(base for base, _ in _atomic_places(kernel, statements)),
        promised=facts.promised | promised,
        disjoint=facts.disjoint,
        pointers=pointers,
    )


def lds_names(kernel: KernelSyntax) -> frozenset[str]:
    """The `__shared__` arrays, and the pointers that begin in one and are given no other value."""
    found = {array.name for array in kernel.shared}
    moved = changed_once_declared(kernel)
    for node in walk(kernel.body_node):
        if node.type != "init_declarator" or child_of(node, "declarator").type != "pointer_declarator":
            continue
        named, value = declared_name(child_of(node, "declarator")), child_of(node, "value")
        while value.type == "cast_expression":
            value = child_of(value, "value")
        if text_of(value).startswith("reinterpret_cast") and len(arguments_of(value)) == 1:
            value = arguments_of(value)[0]
        begin = pointer_of(value)
        if named is not None and begin is not None and begin[0] in found and text_of(named) not in moved:
            found.add(text_of(named))
    return frozenset(found)


def _stored(
    kernel: KernelSyntax,
    statements: tuple[Node, ...],
    inside: tuple[Subscript, ...],
    pointers: frozenset[str],
    references: frozenset[str],
) -> frozenset[str] | None:
    """The pointers that are stored through; None where something else may be."""
    if any(
        statement.start_byte <= o.span.start < statement.end_byte
        for o in kernel.through.opaque
        for statement in statements
    ):
        return None
    atomics = [a for a in kernel.atomics if _within(a.node, statements)]
    places = list(_atomic_places(kernel, statements))
    own = lds_names(kernel) | set(_arrays(kernel))
    stored = {s.base for s in inside if s.use in ("write", "update")} | {base for base, _ in places}
    if len(places) < len(atomics) or not stored <= own | pointers:
        return None
    exempt = {node.id for _, argument in places for node in walk(argument)}
    known = {s.node.id for s in inside}
    for statement in statements:
        for node in _outside_names(statement, kernel):
            if _may_store(node, kernel, known, exempt, pointers, references):
                return None
    return frozenset(stored - own)


def _may_store(
    node: Node,
    kernel: KernelSyntax,
    known: set[int],
    exempt: set[int],
    pointers: frozenset[str],
    references: frozenset[str],
) -> bool:
    """Whether something is stored, or may be, other than to a variable or by a subscript that was read."""
    if node.id in exempt:
        return False
    if node.type == "reference_declarator":
        return True
    if node.type == "pointer_expression":
        target = child_of(node, "argument")
        is_local = target.type == "identifier" and kernel.parameter(text_of(target)) is None
        return not text_of(node).startswith("&") or not is_local or text_of(target) in references
    if node.type in ("assignment_expression", "update_expression"):
        target = child_of(node, "left" if node.type == "assignment_expression" else "argument")
        while target.type in ("field_expression", "parenthesized_expression") and target.id not in known:
            if "->" in text_of(target):
                return True
            inner = target.child_by_field_name("argument")
            target = inner if inner is not None else target.named_children[0]
        return target.id not in known and (target.type != "identifier" or text_of(target) in references)
    if node.type == "identifier" and text_of(node) in pointers:
        outer = node.parent
        while outer is not None and outer.type == "parenthesized_expression":
            outer = outer.parent
        return outer is None or outer.type != "subscript_expression"
    return False


def _outside_names(node: Node, kernel: KernelSyntax) -> Iterator[Node]:
    """The node and all below it but declarations that only give a place another name."""
    if node.id in kernel.through.names:
        return
    yield node
    for child in node.children:
        yield from _outside_names(child, kernel)


def _atomic_places(kernel: KernelSyntax, statements: tuple[Node, ...]) -> Iterator[tuple[str, Node]]:
    """The pointers that atomics change elements of, and the arguments that say so."""
    for atomic in kernel.atomics:
        found = pointer_of(atomic.arguments[0]) if atomic.arguments else None
        if found is not None and _within(atomic.node, statements):
            yield found[0], atomic.arguments[0]


def _arrays(kernel: KernelSyntax) -> Iterator[str]:
    """The thread's own arrays."""
    for node in walk(kernel.body_node):
        if node.type == "array_declarator":
            name = next((n for n in walk(node) if n.type == "identifier"), None)
            if name is not None:
                yield text_of(name)


def _within(node: Node, statements: tuple[Node, ...]) -> bool:
    return any(is_within(node, s) for s in statements)
