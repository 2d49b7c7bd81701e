"""How large an index can become, whatever the launch and the data are: from types, constants and what stands before it.

Takes an integer expression of a kernel, gives an interval that holds in every launch: of its type, of operators
(`x & 63`, `x % 64u`), and of the assignments and conditions (`if (b > 255) b = 255;`) that a local went through.
Recorded launches are never asked. What is not certain is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, unsteady_names
from hipscope.analysis.source.array_accesses import pointer_of
from hipscope.analysis.source.nodes import (
    LOOPS,
    ancestors,
    arguments_of,
    built_in,
    called,
    child_of,
    declarations_in,
    names_in,
    operator_of,
    takes_address,
    text_of,
    walk,
    without_value,
)
from hipscope.analysis.source.number_types import element_of
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.lane_model import constant_number
from hipscope.formulas.facts.launch_facts import LaunchFacts, elements_of, pointers_of
from hipscope.formulas.propose.rules.ranges.intervals import (
    INT_LIMIT,
    Range,
    combined,
    common,
    compared,
    either,
    is_narrow,
    narrower,
    of_type,
    of_types,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import MAX_THREADS, only_statement

_LISTS = ("compound_statement", "case_statement")
_BRACKETS = ("parenthesized_expression", "condition_clause")
_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_CAST = re.compile(r"static_cast\s*<\s*(.*?)\s*>|(int|unsigned|size_t)")
_UNKNOWN: frozenset[str] = frozenset()
_STORES = 24  # that one after the other are followed back
_HOPS = 4  # from a local to the one that it begins with


@dataclass(frozen=True)
class IndexBounds:
    """The intervals of one kernel's expressions; what is known of a place is kept, for a hash asks for it again."""

    source: bytes
    kernel: KernelSyntax
    file: FileSyntax
    facts: LaunchFacts
    _ranges: dict[tuple[int, str], Range | None] = field(init=False, default_factory=dict, repr=False)
    _open: list[str] = field(init=False, default_factory=list, repr=False)
    _unseen: dict[str, bool] = field(init=False, default_factory=dict, repr=False)

    def of(self, node: Node) -> Range | None:
        """The interval of an integer expression; None where it is no integer, or nothing certain is known."""
        place = node.id, ""
        if place not in self._ranges:
            self._ranges[place] = self._of(node)
        return self._ranges[place]

    def _of(self, node: Node) -> Range | None:
        types = self._types(node)
        # A float that does not fit into the narrow type that it is made leaves anything in a register.
        trusted = self._is_loaded(node) or not any(is_narrow(name) for name in types)
        return narrower(self._computed(node), of_types(types) if trusted else None)

    def _computed(self, node: Node) -> Range | None:
        kind = node.type
        if kind in _BRACKETS and node.named_children:
            return self.of(node.named_children[0])
        if kind == "number_literal":
            value = constant_number(node, {})
            return None if value is None else (value, value)
        if (place := built_in(text_of(node))) is not None:
            return {"threadIdx": (0, MAX_THREADS - 1), "blockDim": (1, MAX_THREADS)}.get(place[:-2])
        if kind == "identifier":
            return self._name(node)
        if kind == "binary_expression":
            return self._binary(node)
        if kind == "conditional_expression":
            return self._chosen(node)
        if (cast := _cast_of(node)) is not None:
            return self._stored(self._named(cast[0]), self.of(cast[1]))
        return self._extreme(node) if self._is_extreme(node) else None

    def _binary(self, node: Node) -> Range | None:
        operator = operator_of(node)
        left, right = self.of(child_of(node, "left")), self.of(child_of(node, "right"))
        if operator in _COMPARISONS and left is not None and right is not None:
            return 0, 1
        return combined(operator, left, right)

    def _is_extreme(self, node: Node) -> bool:
        return called(node) in ("min", "max") and node.id not in self.kernel.through.meanings

    def _extreme(self, call: Node) -> Range | None:
        sides = arguments_of(call)
        ranges = [found for side in sides if (found := self.of(side)) is not None]
        if len(sides) != 2 or len(ranges) != 2:
            return None
        types = self._types(sides[0])
        # Of different types one side is converted first: no matter where neither is negative.
        if any(low < 0 for low, _ in ranges) and (not types or types != self._types(sides[1])):
            return None
        choose = min if called(call) == "min" else max
        return choose(low for low, _ in ranges), choose(high for _, high in ranges)

    def _chosen(self, node: Node, around: tuple[tuple[Node, bool], ...] = ()) -> Range | None:
        """Of `b < 64 ? b : 63`: what the conditions around say of a name counts on each side."""
        found = []
        for name, holds in (("consequence", True), ("alternative", False)):
            side, passed = child_of(node, name), (*around, (child_of(node, "condition"), holds))
            while side.type in _BRACKETS and len(side.named_children) == 1:
                side = side.named_children[0]
            value = self._chosen(side, passed) if side.type == "conditional_expression" else self.of(side)
            for condition, taken in passed if side.type == "identifier" else ():
                value = self._told(value, text_of(side), condition, taken) if value is not None else None
            found.append(value)
        return either(found[0], found[1])

    # What a name holds.

    def _name(self, node: Node) -> Range | None:
        name = text_of(node)
        if self.kernel.parameter(name) is None and not self._declarations(name):
            return self._constant(name)
        if self._changes_unseen(name):
            return None
        return self._reaching(node, name)

    def _constant(self, name: str) -> Range | None:
        """Of a constant of the file, or of a template's argument in all instances."""
        if name in _other_declarations(self.kernel.body_node):
            return None
        if re.search(rf"\b{name}\b", self.kernel.template_head):
            values = self.facts.types.values.get(name, frozenset())
            return (min(values), max(values)) if values and min(values) >= 0 else None
        constants = {**self.kernel.through.constants, **self.file.constants}
        value = constant_number(constants[name], constants) if name in constants else None
        return (value, value) if value is not None and 0 <= value < INT_LIMIT else None

    def _reaching(self, node: Node, name: str) -> Range | None:
        place = node.id, name
        if place not in self._ranges:
            if len(self._open) >= _STORES:
                return self._any(name)
            self._open.append(name)
            self._ranges[place] = self._last_stored(node, name)
            self._open.pop()
        return self._ranges[place]

    def _last_stored(self, node: Node, name: str) -> Range | None:
        """The interval at a place: of what was last stored there, and of the conditions passed since."""
        path, passed = node, list[tuple[Node, bool]]()
        for around in (*ancestors(node, self.kernel.body_node), self.kernel.body_node):
            if around.type in LOOPS and name in changed_names(around):
                return self._passed(None, name, passed)
            listed = around.type in _LISTS
            for before in reversed(around.named_children):
                if before.id == path.id or (listed and before.start_byte >= path.start_byte):
                    continue
                if name in changed_names(before):
                    return self._passed(self._set_by(before, name) if listed else None, name, passed)
                if listed and (condition := _leaving(before)) is not None:
                    passed.append((condition, False))
            if around.type == "if_statement" and path.type != "condition_clause":
                taken = child_of(around, "consequence").id == path.id
                passed.append((child_of(around, "condition"), taken))
            path = around
        return self._passed(None, name, passed)

    def _passed(self, found: Range | None, name: str, passed: Iterable[tuple[Node, bool]]) -> Range | None:
        found = found if found is not None else self._any(name)
        for condition, holds in passed:
            found = self._told(found, name, condition, holds) if found is not None else None
        return found

    def _set_by(self, statement: Node, name: str) -> Range | None:
        """What a name holds behind a statement that changes it: an assignment, a declaration, a clamp."""
        if statement.type == "declaration":
            values = [d.child_by_field_name("value") for n, d, _ in declarations_in(statement) if n == name]
            value = self.of(values[0]) if len(values) == 1 and values[0] is not None else None
            return self._stored(self._types_of_name(name), value)
        if statement.type == "expression_statement" and statement.named_children:
            return self._assigned(statement.named_children[0], name)
        if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
            return None
        condition, inner = (
            child_of(statement, "condition"),
            only_statement(child_of(statement, "consequence")),
        )
        if name in changed_names(condition):
            return None
        before = self._reaching(statement, name)
        kept = self._told(before, name, condition, holds=False) if before is not None else None
        return either(kept, self._set_by(inner, name))

    def _assigned(self, assignment: Node, name: str) -> Range | None:
        if assignment.type != "assignment_expression" or text_of(child_of(assignment, "left")) != name:
            return None
        right, operator = child_of(assignment, "right"), operator_of(assignment)
        if name in changed_names(right):
            return None
        value = self.of(right)
        if operator != "=":
            value = combined(operator.removesuffix("="), self._reaching(assignment, name), value)
        return self._stored(self._types_of_name(name), value)

    def _told(self, found: Range, name: str, condition: Node, holds: bool) -> Range:
        """An interval with what a condition says of the name, where it holds or does not."""
        while condition.type in _BRACKETS and len(condition.named_children) == 1:
            condition = condition.named_children[0]
        if condition.type != "binary_expression":
            return found
        operator = operator_of(condition)
        left, right = child_of(condition, "left"), child_of(condition, "right")
        if operator == ("&&" if holds else "||"):
            return self._told(self._told(found, name, left, holds), name, right, holds)
        if text_of(right) == name:
            left, right, operator = right, left, _MIRRORED.get(operator, "")
        signed = self._types(right) and all(of_type(kind)[0] < 0 for kind in self._types(right))
        # A negative number is a large one beside an unsigned.
        if text_of(left) != name or operator not in _NEGATED or (found[0] < 0 and not signed):
            return found
        return compared(operator if holds else _NEGATED[operator], found, self.of(right))

    def _any(self, name: str) -> Range | None:
        """What a variable of that name can hold at all."""
        types = self._types_of_name(name)
        return None if any(is_narrow(kind) for kind in types) else of_types(types)

    def _stored(self, types: frozenset[str], value: Range | None) -> Range | None:
        """A value once it has one of these types; None where it may be a float in a narrow type."""
        whole = of_types(types)
        if value is None or whole is None:
            return None if any(is_narrow(kind) for kind in types) else whole
        fits = all(low <= value[0] and value[1] <= high for low, high in map(of_type, types))
        return value if fits else whole

    def _changes_unseen(self, name: str) -> bool:
        """Whether a local may change where the text does not show it."""
        if name not in self._unseen:
            self._unseen[name] = self._may_change_unseen(name)
        return self._unseen[name]

    def _may_change_unseen(self, name: str) -> bool:
        if name in unsteady_names(self.kernel) | self.kernel.state:
            return True
        if re.search(rb"#\s*define\s+\w+(?:\([^)]*\))?[^\n]*\b%s\b" % name.encode(), self.source):
            return True
        return any(_hides_changes(node, name) for node in walk(self.kernel.body_node))

    # Types, by the names of their elements; none where they are not known to be integers.

    def _types(self, node: Node, hops: int = 0) -> frozenset[str]:
        told = self.facts.types.of(self.source, node)
        if told is not None:
            return _integers([told])
        if node.type in _BRACKETS and node.named_children:
            return self._types(node.named_children[0], hops)
        if node.type == "number_literal":
            return _of_literal(text_of(node))
        if built_in(text_of(node)) is not None:
            return frozenset({"uint32"})
        if node.type == "identifier":
            return self._types_of_name(text_of(node), hops)
        if node.type == "subscript_expression":
            base = text_of(child_of(node, "argument"))
            element = None if self._declarations(base) else pointers_of(self.kernel, self.facts).get(base)
            return _UNKNOWN if element is None else _integers(elements_of(base, element, self.facts))
        if (cast := _cast_of(node)) is not None:
            return self._named(cast[0])
        if self._is_extreme(node) and len(sides := arguments_of(node)) == 2:
            return common(self._types(sides[0], hops), self._types(sides[1], hops))
        if node.type != "binary_expression":
            return _UNKNOWN
        operator = operator_of(node)
        left = self._types(child_of(node, "left"), hops)
        right = left if operator in ("<<", ">>") else self._types(child_of(node, "right"), hops)
        return (
            common(left, right)
            if operator in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")
            else _UNKNOWN
        )

    def _types_of_name(self, name: str, hops: int = 0) -> frozenset[str]:
        """Of a variable: none where declarations of that name differ, or one is an array, a pointer, or shared."""
        parameter, declared = self.kernel.parameter(name), self._declarations(name)
        if parameter is not None and not declared:
            return _UNKNOWN if parameter.pointer else self._named(parameter.element_type)
        kinds = set()
        for declarator, declaration in declared:
            inner = without_value(declarator)
            head = text_of(declaration)[: declarator.start_byte - declaration.start_byte]
            if inner.type != "identifier" or re.search(r"\b(__shared__|volatile|static|extern)\b", head):
                return _UNKNOWN
            kind = " ".join(text_of(child_of(declaration, "type")).split())
            value = declarator.child_by_field_name("value")
            if kind == "auto" and value is not None:  # names of other scopes may lead round and round
                kinds.add(self._types(value, hops + 1) if hops < _HOPS else _UNKNOWN)
            else:
                kinds.add(self._named(kind))
        return kinds.pop() if len(kinds) == 1 and not parameter else _UNKNOWN

    def _declarations(self, name: str) -> list[tuple[Node, Node]]:
        return [(d, whole) for n, d, whole in declarations_in(self.kernel.body_node) if n == name]

    def _named(self, written: str) -> frozenset[str]:
        """Of a type as it is written, `T` included."""
        bare = re.sub(r"\b(const|constexpr)\b", " ", written).strip()
        return _integers(elements_of(bare, bare, self.facts))

    def _is_loaded(self, node: Node, hops: int = 0) -> bool:
        """Whether it is an element behind an argument, a member of one, or of a local copy that nothing changes."""
        if node.type in _BRACKETS and node.named_children:
            return self._is_loaded(node.named_children[0], hops)
        if node.type == "subscript_expression":
            return self._is_memory(text_of(child_of(node, "argument")), hops)
        if node.type == "pointer_expression":
            return text_of(node)[0] == "*" and self._is_memory(text_of(child_of(node, "argument")), hops)
        if node.type != "field_expression":
            return False
        record = child_of(node, "argument")
        if record.type != "identifier":
            return self._is_loaded(record, hops)
        value = self.only_value(text_of(record)) if hops < _HOPS else None
        return value is not None and self._is_loaded(value, hops + 1)

    def _is_memory(self, base: str, hops: int = 0) -> bool:
        """An argument, or a local pointer that begins in one and stays."""
        if not self._declarations(base):
            return base in pointers_of(self.kernel, self.facts)
        value = self.only_value(base) if hops < _HOPS else None
        begin = pointer_of(value) if value is not None else None
        return begin is not None and self._is_memory(begin[0], hops + 1)

    def only_value(self, name: str) -> Node | None:
        """What a local is declared with, where it keeps that."""
        declared = self._declarations(name)
        changing = ("assignment_expression", "update_expression", "call_expression")
        changed = any(n.type in changing and name in changed_names(n) for n in walk(self.kernel.body_node))
        if len(declared) != 1 or changed or self._changes_unseen(name):
            return None
        return declared[0][0].child_by_field_name("value")


def _leaving(statement: Node) -> Node | None:
    """The condition of `if (condition) return;` (or continue, break)."""
    if statement.type != "if_statement" or statement.child_by_field_name("alternative") is not None:
        return None
    inner = only_statement(child_of(statement, "consequence"))
    leaves = ("return_statement", "continue_statement", "break_statement")
    return child_of(statement, "condition") if inner.type in leaves else None


def _other_declarations(body: Node) -> frozenset[str]:
    """Names that something else than a declaration declares: loops over ranges, parameters of lambdas, bindings."""
    kinds = ("for_range_loop", "parameter_declaration", "structured_binding_declarator")
    found = [n.child_by_field_name("declarator") or n for n in walk(body) if n.type in kinds]
    return frozenset(name for node in found for name in names_in(node))


def _hides_changes(node: Node, name: str) -> bool:
    """A lambda, a reference, an address or assembly that may change the name later; a jump to another place."""
    if node.type in ("goto_statement", "gnu_asm_expression"):
        return True
    if node.type in ("lambda_expression", "reference_declarator"):
        return name in names_in(node.parent or node)
    if takes_address(node):
        target = child_of(node, "argument")
        while target.type in ("parenthesized_expression", "field_expression") and target.named_children:
            target = target.named_children[0]
        return text_of(target) == name
    if node.type == "case_statement":
        listed = node.parent
        return listed is None or listed.parent is None or listed.parent.type != "switch_statement"
    return False


def _cast_of(node: Node) -> tuple[str, Node] | None:
    """(type, value) of `(T)x`, `static_cast<T>(x)`, `int(x)`."""
    if node.type == "cast_expression":
        return text_of(child_of(node, "type")), child_of(node, "value")
    if node.type != "call_expression" or len(arguments_of(node)) != 1:
        return None
    found = _CAST.fullmatch(text_of(child_of(node, "function")))
    return None if found is None else (found[1] or found[2], arguments_of(node)[0])


def _integers(names: Iterable[str]) -> frozenset[str]:
    elements = [element_of(name) for name in names]
    known = bool(elements) and all(e.kind == "integer" for e in elements)
    return frozenset(e.name for e in elements) if known else _UNKNOWN


def _of_literal(text: str) -> frozenset[str]:
    suffix = re.fullmatch(r"(?:0[xX][\da-fA-F']+|0[bB][01']+|[\d']+)([uUlLzZ]*)", text)
    if suffix is None:
        return _UNKNOWN
    digits = text.removesuffix(suffix[1]).replace("'", "")
    value = int(digits, 8 if digits[:1] == "0" and digits.isdigit() else 0)
    size = 64 if value >= INT_LIMIT or re.search("[lLzZ]", suffix[1]) else 32
    return frozenset({f"{'u' if re.search('[uU]', suffix[1]) else ''}int{size}"})
