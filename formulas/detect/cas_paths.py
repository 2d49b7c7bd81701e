"""One step of a compare-and-swap loop, followed along every path: what it swaps, under which conditions, how it ends.

Takes the function around the loop and the loop, gives the paths as terms. What cannot be followed raises `NotFollowed`
with the reason: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    LOOPS,
    arguments_of,
    built_in,
    called,
    child_of,
    declared_name,
    names_in,
    squeeze,
    text_of,
    walk,
)
from hipscope.formulas.detect.cas_names import FunctionNames, Returned, bare_pointer, named_type
from hipscope.formulas.detect.cas_values import (
    BIT_CASTS,
    COMPARISONS,
    UNKNOWN,
    Term,
    TypeCode,
    as_type,
    bits_as,
    code_of_number,
    code_of_type,
    common_type,
    core,
    symbols_in,
)

End = Literal["next", "break", "continue", "return"]
EXCHANGES = ("atomicCAS", "__hip_atomic_compare_exchange_strong", "__hip_atomic_compare_exchange_weak")

_LOADS = ("__hip_atomic_load", "__atomic_load_n", "__nv_atomic_load_n")
_EXTREMES = {"min": "min", "max": "max", "fmin": "min", "fmax": "max", "fminf": "min", "fmaxf": "max"}
_SUMS = {"__fadd_rn": "f4", "__dadd_rn": "f8"}
# Functions of their arguments alone.
_PURE = re.compile(r"(?:std::|::)?(abs|(?:fabs|sqrt|exp|log|floor|ceil|rsqrt|sin|cos|pow|fma|fmod)f?)")
_MOST_PATHS = 64


class NotFollowed(Exception):
    """Why a loop cannot be followed, as the end of a sentence."""


def is_exchange(node: Node) -> bool:
    """Whether this is the call of a compare-and-swap."""
    return _function(node) in EXCHANGES


def _function(node: Node) -> str:
    return (called(node) or "").removeprefix("std::").removeprefix("::")


@dataclass(frozen=True)
class Swap:
    """One compare-and-swap of a path: what it expects and stores, and whether it succeeds."""

    expected: Term
    desired: Term
    done: bool


@dataclass(frozen=True)
class Path:
    """What holds on one way through a step, up to where it stands or ends. `asked` are conditions and their answers."""

    values: Mapping[str, Term]
    asked: tuple[tuple[Term, bool], ...] = ()
    swap: Swap | None = None
    before: int = 0  # how many of `asked` were answered before the swap
    end: End = "next"
    result: Term | None = None

    def setting(self, name: str, value: Term) -> Path:
        """The path with another value of a variable."""
        return replace(self, values={**self.values, name: value})


Ways = Iterator[tuple[Path, Term]]


@dataclass
class Step:
    """The loop whose step is followed. `place` is the address that it swaps at, in `bare_pointer`'s form."""

    names: FunctionNames
    call: Node
    place: str
    type: TypeCode
    changed: frozenset[str]
    _count: int = field(default=0)

    # Statements

    def body(self, node: Node, path: Path) -> Iterator[Path]:
        """Every way through one statement."""
        self._count += 1
        if self._count > _MOST_PATHS * 16:
            raise NotFollowed("there are too many ways through it")
        if path.end != "next":
            yield path
        elif node.type in ("compound_statement", "else_clause"):
            yield from self._list([c for c in node.named_children if c.type != "comment"], path)
        elif node.type == "expression_statement":
            yield from self._effect(node, path)
        elif node.type == "declaration":
            yield from self._declared(node.children_by_field_name("declarator"), path)
        elif node.type == "if_statement":
            yield from self._branched(node, path)
        elif node.type in ("break_statement", "continue_statement"):
            yield replace(path, end="break" if node.type == "break_statement" else "continue")
        elif node.type == "return_statement":
            yield from self._returned(node, path)
        elif node.type not in ("comment", ";"):
            raise NotFollowed(f"line {node.start_point.row + 1} does something else")

    def _list(self, nodes: list[Node], path: Path) -> Iterator[Path]:
        if not nodes:
            yield path
            return
        for after in self.body(nodes[0], path):
            yield from self._list(nodes[1:], after)

    def _effect(self, node: Node, path: Path) -> Iterator[Path]:
        inner = [c for c in node.named_children if c.type != "comment"]
        if not inner:
            yield path
        else:
            yield from (after for after, _ in self.value(inner[0], path))

    def _declared(self, declarators: list[Node], path: Path) -> Iterator[Path]:
        if not declarators:
            yield path
            return
        first, name = declarators[0], declared_name(declarators[0])
        if name is None or first.type not in ("identifier", "init_declarator"):
            raise NotFollowed(f"the declaration on line {first.start_point.row + 1} is no number")
        if first.type == "identifier":
            yield from self._declared(declarators[1:], path.setting(text_of(name), UNKNOWN))
            return
        for after, value in self.value(child_of(first, "value"), path):
            kept = as_type(value, self._type_of(text_of(name)) or value.type)
            yield from self._declared(declarators[1:], after.setting(text_of(name), kept))

    def _branched(self, node: Node, path: Path) -> Iterator[Path]:
        otherwise = node.child_by_field_name("alternative")
        for after, truth in self.truths(child_of(node, "condition"), path):
            if truth:
                yield from self.body(child_of(node, "consequence"), after)
            elif otherwise is not None:
                yield from self.body(otherwise, after)
            else:
                yield after

    def _returned(self, node: Node, path: Path) -> Iterator[Path]:
        inner = [c for c in node.named_children if c.type != "comment"]
        if not inner:
            yield replace(path, end="return")
            return
        for after, value in self.value(inner[0], path):
            yield replace(after, end="return", result=value)

    # Conditions

    def truths(self, node: Node, path: Path) -> Iterator[tuple[Path, bool]]:
        """The ways in which a condition is true or false, each with what it then says of the values."""
        if node.type in ("parenthesized_expression", "condition_clause"):
            yield from self.truths(_inner(node), path)
            return
        operator = (
            text_of(child_of(node, "operator"))
            if node.type in ("binary_expression", "unary_expression")
            else ""
        )
        if operator == "!":
            yield from ((after, not truth) for after, truth in self.truths(child_of(node, "argument"), path))
        elif operator in ("&&", "||"):
            for after, truth in self.truths(child_of(node, "left"), path):
                if truth == (operator == "||"):
                    yield after, truth
                else:
                    yield from self.truths(child_of(node, "right"), after)
        else:
            for after, value in self.value(node, path):
                yield from _answers(after, value)

    # Expressions

    def value(self, node: Node, path: Path) -> Ways:
        """Every value that the expression may have, with the path on which it has it."""
        kind = node.type
        if kind in ("parenthesized_expression", "condition_clause"):
            yield from self.value(_inner(node), path)
        elif kind == "number_literal":
            yield path, Term("given", text=text_of(node), type=code_of_number(text_of(node)))
        elif kind in ("true", "false"):
            yield path, Term("truth", text=kind, type="u1")
        elif kind == "identifier":
            yield path, self._named(text_of(node), path)
        elif kind == "assignment_expression":
            yield from self._assigned(node, path)
        elif kind == "update_expression":
            yield from self._counted(node, path)
        elif kind == "conditional_expression":
            yield from self._chosen(node, path)
        elif kind == "cast_expression":
            code = self._written_type(node)
            yield from ((after, as_type(v, code)) for after, v in self.value(child_of(node, "value"), path))
        elif kind == "call_expression":
            yield from self._called(node, path)
        elif kind == "unary_expression":
            yield from self._unary(node, path)
        elif kind == "binary_expression":
            yield from self._binary(node, path)
        else:
            yield path, self._memory(node, path)

    def _named(self, name: str, path: Path) -> Term:
        if name in path.values:
            return path.values[name]
        if f"&{name}" == self.place:
            return Term("load", type=self._type_of(name))
        if (value := self.names.bits_of(name)) is not None:
            return next(self.value(value, Path({})))[1]
        return Term("given", text=name, type=self._type_of(name))

    def _assigned(self, node: Node, path: Path) -> Ways:
        left, operator = child_of(node, "left"), text_of(child_of(node, "operator"))
        if left.type != "identifier" or not self.names.is_local(text_of(left)):
            raise NotFollowed(f"line {node.start_point.row + 1} stores to memory")
        name = text_of(left)
        for after, value in self.value(child_of(node, "right"), path):
            if operator != "=":
                value = _operation(operator[:-1], self._named(name, after), value)
            kept = as_type(value, self._type_of(name) or value.type)
            yield after.setting(name, kept), kept

    def _counted(self, node: Node, path: Path) -> Ways:
        target = child_of(node, "argument")
        if target.type != "identifier" or not self.names.is_local(text_of(target)):
            raise NotFollowed(f"line {node.start_point.row + 1} stores to memory")
        old = self._named(text_of(target), path)
        one = Term("given", text="1", type="i4")
        new = as_type(_operation(text_of(child_of(node, "operator"))[0], old, one), old.type)
        first = node.children[0].id == target.id
        yield path.setting(text_of(target), new), old if first else new

    def _chosen(self, node: Node, path: Path) -> Ways:
        """A choice that the path does not decide stays a term: it is no way of its own."""
        sides = [child_of(node, "consequence"), child_of(node, "alternative")]
        if any(is_exchange(n) or n.type == "assignment_expression" for n in walk(node)):
            for after, truth in self.truths(child_of(node, "condition"), path):
                yield from self.value(sides[0] if truth else sides[1], after)
            return
        for _, asked in self.value(child_of(node, "condition"), path):
            (_, one), (_, other) = (next(self.value(side, path)) for side in sides)
            yield path, Term("choice", (asked, one, other), type=common_type(one.type, other.type))

    def _unary(self, node: Node, path: Path) -> Ways:
        operator = text_of(child_of(node, "operator"))
        for after, value in self.value(child_of(node, "argument"), path):
            yield after, Term("unary", (value,), operator, "u1" if operator == "!" else value.type)

    def _binary(self, node: Node, path: Path) -> Ways:
        operator = text_of(child_of(node, "operator"))
        for after, left in self.value(child_of(node, "left"), path):
            for last, right in self.value(child_of(node, "right"), after):
                yield last, _operation(operator, left, right)

    def _memory(self, node: Node, path: Path) -> Term:
        """A read: of the address itself, of a variable's bits, or of memory that the loop has nothing to do with."""
        if node.type == "pointer_expression" and text_of(node).startswith("*"):
            pointer = child_of(node, "argument")
            if bare_pointer(pointer, self.names) == self.place:
                return Term("load", type=self.names.pointee(pointer))
            if (bits := self._bits_of_variable(pointer, path)) is not None:
                return bits
        elif self._is_place(node):
            return Term("load", type=self._type_of_place(node))
        elif node.type not in ("subscript_expression", "field_expression", "qualified_identifier"):
            raise NotFollowed(f"`{text_of(node)}` on line {node.start_point.row + 1} is not followed")
        return self._given(node, self._type_of_place(node))

    def _is_place(self, node: Node) -> bool:
        """Whether an element or a member is what the loop swaps."""
        if node.type == "subscript_expression":
            return bare_pointer(node, self.names) == self.place
        return node.type == "field_expression" and f"&{squeeze(text_of(node))}" == self.place

    def _type_of_place(self, node: Node) -> TypeCode | None:
        if (told := self.names.spans.get((node.start_byte, node.end_byte))) is not None:
            return code_of_type(told)
        if built_in(text_of(node)) is not None:
            return "u4"
        return self.names.element(child_of(node, "argument")) if node.type == "subscript_expression" else None

    def _bits_of_variable(self, pointer: Node, path: Path) -> Term | None:
        """`*(int*)&x` and `*reinterpret_cast<int*>(&x)`."""
        code = self.names.pointee(pointer)
        inner = self.names.uncast(pointer)
        if code is None or inner.type != "pointer_expression" or not text_of(inner).startswith("&"):
            return None
        value = self._named(text_of(child_of(inner, "argument")), path)
        return bits_as(value, code) if value.type is not None and value.type[1:] == code[1:] else None

    def _given(self, node: Node, code: TypeCode | None) -> Term:
        """An expression that has one value in all steps: it names nothing that the loop changes, and does nothing."""
        changing = names_in(node) & self.changed
        if changing:
            raise NotFollowed(
                f"`{text_of(node)}` on line {node.start_point.row + 1} changes from step to step"
            )
        bad = {"assignment_expression", "update_expression", "lambda_expression"}
        if any(n.type in bad or (n.type == "call_expression" and n.id != node.id) for n in walk(node)):
            raise NotFollowed(f"`{text_of(node)}` on line {node.start_point.row + 1} is not followed")
        return Term("given", text=text_of(node), type=code)

    # Calls

    def _called(self, node: Node, path: Path) -> Ways:
        function, arguments = child_of(node, "function"), arguments_of(node)
        name = _function(node) or text_of(function)
        if node.id == self.call.id:
            yield from self._swapped(node, path)
        elif name in BIT_CASTS and len(arguments) == 1:
            source, target = BIT_CASTS[name]
            ways = self.value(arguments[0], path)
            yield from ((after, bits_as(as_type(v, source), target)) for after, v in ways)
        elif name in _LOADS and bare_pointer(arguments[0], self.names) == self.place:
            yield path, Term("load", type=self.names.pointee(arguments[0]))
        elif name in _EXTREMES and len(arguments) == 2:
            yield from self._extreme(name, arguments, path)
        elif name in _SUMS and len(arguments) == 2:
            for after, one in self.value(arguments[0], path):
                for last, other in self.value(arguments[1], after):
                    yield last, _operation("+", one, other)
        elif (made := self.names.returned.get((node.start_byte, node.end_byte))) is not None:
            yield from self._followed(made, arguments, path)
        elif len(arguments) == 1 and (cast := self._cast(node, function)) is not None:
            kind, code = cast
            for after, value in self.value(arguments[0], path):
                yield after, bits_as(value, code) if kind == "reinterpret_cast" else as_type(value, code)
        elif _PURE.fullmatch(name):
            for argument in arguments:
                self._given(argument, None)
            yield path, self._given(node, "f4" if name.endswith("f") else None)
        else:
            raise NotFollowed(f"`{name}` on line {node.start_point.row + 1} is not followed")

    def _followed(self, made: Returned, arguments: tuple[Node, ...], path: Path) -> Ways:
        """What a callee of one `return` makes of these arguments."""
        if len(arguments) != len(made.parameters):
            raise NotFollowed(f"`{text_of(made.value)}` is not followed")
        ways: list[tuple[Path, dict[str, Term]]] = [(path, {})]
        for node, (name, kind) in zip(arguments, made.parameters, strict=True):
            ways = [
                (after, {**terms, name: as_type(term, code_of_type(kind))})
                for before, terms in ways
                for after, term in self.value(node, before)
            ]
        inner = Step(FunctionNames(made.function), self.call, "", self.type, frozenset())
        for after, terms in ways:
            for _, value in inner.value(made.value, Path(terms)):
                yield after, as_type(value, code_of_type(made.result))

    def _cast(self, node: Node, function: Node) -> tuple[str, TypeCode] | None:
        """`static_cast<int>` and `int` of a call, and `reinterpret_cast<int&>`."""
        found = re.fullmatch(r"(static_cast|reinterpret_cast)\s*<\s*(.*?)\s*(&?)\s*>", text_of(function))
        if found is None:
            code = self._spelled(text_of(function)) if function.type == "primitive_type" else None
            return None if code is None else ("static_cast", code)
        code = code_of_type(self.names.cast_to(node, found[2]))
        return (found[1], code) if code is not None and (found[1][0] == "r") == bool(found[3]) else None

    def _extreme(self, name: str, arguments: tuple[Node, ...], path: Path) -> Ways:
        for after, one in self.value(arguments[0], path):
            for last, other in self.value(arguments[1], after):
                code = common_type(one.type, other.type)
                if name in ("fminf", "fmaxf"):
                    code = "f4"
                one, other = (a if _is_number(a) else as_type(a, code) for a in (one, other))
                yield last, Term("call", (one, other), _EXTREMES[name], code)

    def _swapped(self, node: Node, path: Path) -> Ways:
        """Both ends of the compare-and-swap: it finds what it expects, or something else that it has seen then."""
        if path.swap is not None:
            raise NotFollowed("a step swaps twice")
        arguments = arguments_of(node)
        seen = Term("seen", type=self.type)
        if _function(node) == "atomicCAS":
            for after, expected in self.value(arguments[1], path):
                for last, desired in self.value(arguments[2], after):
                    found = as_type(expected, self.type)
                    both = self._both(last, found, as_type(desired, self.type))
                    yield from zip(both, (found, seen), strict=True)
            return
        variable = child_of(arguments[1], "argument")
        if arguments[1].type != "pointer_expression" or not self.names.is_local(text_of(variable)):
            raise NotFollowed("it expects what is not a variable of the thread")
        name = text_of(variable)
        expected = bits_as(self._named(name, path), self.type)
        for after, desired in self.value(arguments[2], path):
            done, failed = self._both(after, expected, as_type(desired, self.type))
            code = self._type_of(name) or self.type
            yield done, Term("truth", text="true", type="u1")
            yield failed.setting(name, bits_as(seen, code)), Term("truth", text="false", type="u1")

    def _both(self, path: Path, expected: Term, desired: Term) -> tuple[Path, Path]:
        before = len(path.asked)
        one, other = (
            replace(path, swap=Swap(expected, desired, done), before=before) for done in (True, False)
        )
        return one, other

    # Types

    def _type_of(self, name: str) -> TypeCode | None:
        return self.names.type_of(name)

    def _spelled(self, text: str) -> TypeCode | None:
        return code_of_type(self.names.meaning(text))

    def _written_type(self, cast: Node) -> TypeCode | None:
        node = child_of(cast, "type")
        if node.child_by_field_name("declarator") is not None:
            raise NotFollowed(f"line {node.start_point.row + 1} computes with pointers")
        return code_of_type(self.names.cast_to(cast, named_type(node)))


def steps_of(loop: Node, step: Step, start: Path) -> list[Path]:
    """Every way through one step of the loop; a path that ends with "next" goes on to another step."""
    body, condition = child_of(loop, "body"), loop.child_by_field_name("condition")
    if any(
        n.type in LOOPS or n.type in ("goto_statement", "switch_statement")
        for n in walk(body)
        if n.id != loop.id
    ):
        raise NotFollowed("there is a loop or a jump in it")
    if loop.type == "do_statement":
        found = [end for path in step.body(body, start) for end in _asked_on(condition, path, step)]
    else:
        found = []
        for path in _asked_on(condition, start, step):
            for after in step.body(body, path) if path.end == "next" else [path]:
                found += _updated(loop.child_by_field_name("update"), after, step)
    if len(found) > _MOST_PATHS:
        raise NotFollowed("there are too many ways through it")
    return found


def _asked_on(condition: Node | None, path: Path, step: Step) -> Iterator[Path]:
    """The paths behind the loop's condition: where it is false, the loop has ended."""
    if path.end not in ("next", "continue") or condition is None:
        yield path
        return
    for after, truth in step.truths(condition, replace(path, end="next")):
        yield after if truth else replace(after, end="break")


def _updated(update: Node | None, path: Path, step: Step) -> Iterator[Path]:
    if path.end not in ("next", "continue"):
        yield path
        return
    going_on = replace(path, end="next")
    if update is None:
        yield going_on
    else:
        yield from (after for after, _ in step.value(update, going_on))


def _answers(path: Path, value: Term) -> Iterator[tuple[Path, bool]]:
    """The answers that the path leaves open."""
    known = _decided(path, value)
    for truth in (True, False) if known is None else (known,):
        yield (path if known is not None else replace(path, asked=(*path.asked, (value, truth)))), truth


def _decided(path: Path, value: Term) -> bool | None:
    """What the path knows of a condition: after a swap whether what it found is what it expected."""
    if value.kind == "truth":
        return value.text == "true"
    for asked, truth in path.asked:
        if asked == value:
            return truth
    if value.kind == "unary" and value.text == "!":
        inner = _decided(path, value.parts[0])
        return None if inner is None else not inner
    if value.kind != "binary" or value.text not in ("==", "!="):
        return None
    sides = {core(part) for part in value.parts}
    if any(s.kind == "unknown" for part in value.parts for s in symbols_in(part)):
        return None
    if len(sides) == 1:
        return value.text == "=="
    found = (
        path.swap is not None and core(path.swap.expected) in sides and any(s.kind == "seen" for s in sides)
    )
    return value.text == "!=" if found else None


def _operation(operator: str, left: Term, right: Term) -> Term:
    code = "u1" if operator in (*COMPARISONS, "&&", "||") else common_type(left.type, right.type)
    return Term("binary", (left, right), operator, code)


def _is_number(value: Term) -> bool:
    return value.kind == "given" and value.text[:1].isdigit()


def _inner(node: Node) -> Node:
    """What stands in parentheses."""
    inner = [c for c in node.named_children if c.type != "comment"]
    if len(inner) != 1:
        raise NotFollowed(f"line {node.start_point.row + 1} is not followed")
    return inner[0]
