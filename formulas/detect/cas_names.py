"""The names of one function as its text declares them: number types, what pointers lead to, which address is meant.

Takes the function's syntax, what a template's types stand for, and types that the compiler gave; gives number types and
addresses in one form. What is not certain is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from tree_sitter import Node

from hipscope.analysis.source.nodes import called, child_of, declared_name, names_in, squeeze, text_of, walk
from hipscope.formulas.detect.cas_values import BIT_CASTS, TypeCode, code_of_type

_CASTS = re.compile(r"(?:reinterpret_cast|static_cast|const_cast)\s*<\s*([^<>]*?)\s*\*\s*>")
_QUALIFIERS = re.compile(r"\b(const|volatile|__restrict__|__restrict|restrict|__shared__|register)\b")


@dataclass(frozen=True)
class Declared:
    """One declaration of a name: `levels` are its pointers and array brackets."""

    type: str
    levels: int
    reference: bool
    shared: bool
    value: Node | None = field(repr=False)


class Returned(Protocol):
    """`value` of `function` in the names of `parameters`, with their number types; `result` is its own."""

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]: ...  # noqa: D102
    @property
    def result(self) -> str: ...  # noqa: D102
    @property
    def value(self) -> Node: ...  # noqa: D102
    @property
    def function(self) -> Node: ...  # noqa: D102


@dataclass(frozen=True)
class FunctionNames:
    """What a function's names are. `meanings` are types by the names of a template; `spans` types by their bytes.

    `returned` are calls by their bytes whose callee only computes a number from its arguments.
    """

    function: Node = field(repr=False)
    meanings: Mapping[str, str] = field(default_factory=dict)
    spans: Mapping[tuple[int, int], str] = field(default_factory=dict, repr=False)
    returned: Mapping[tuple[int, int], Returned] = field(default_factory=dict, repr=False)

    @cached_property
    def declared(self) -> dict[str, list[Declared]]:
        """All declarations in the function, its parameters too, by name."""
        found: dict[str, list[Declared]] = {}
        for name, one in _declarations(self.function):
            found.setdefault(name, []).append(one)
        return found

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that change once they are declared, or whose address is taken."""
        return frozenset(_assigned(self.function))

    def text(self, start: int, end: int) -> str:
        """The function's text between two bytes of the file."""
        begin = self.function.start_byte
        return (self.function.text or b"")[max(0, start - begin) : max(0, end - begin)].decode(
            "utf-8", "replace"
        )

    @cached_property
    def told(self) -> dict[str, set[str]]:
        """The types that the compiler gave for uses of a name."""
        found: dict[str, set[str]] = {}
        for node in walk(self.function) if self.spans else ():
            kind = self.spans.get((node.start_byte, node.end_byte)) if node.type == "identifier" else None
            if kind is not None:
                found.setdefault(text_of(node), set()).add(kind)
        return found

    def only(self, name: str) -> Declared | None:
        """The one declaration of a name; None where there are several or none."""
        found = self.declared.get(name, [])
        return found[0] if len(found) == 1 else None

    def is_local(self, name: str) -> bool:
        """Whether this is a variable of the thread that no other name stands for."""
        found = self.declared.get(name, [])
        return bool(found) and not any(d.reference or d.shared or d.levels for d in found)

    def bits_of(self, name: str) -> Node | None:
        """What a variable that never changes has the bits of: `int bits = __float_as_int(x)` of an `x` that stays."""
        one = self.only(name)
        if one is None or one.value is None or name in self.assigned or not self.is_local(name):
            return None
        steady = called(one.value) in BIT_CASTS and not names_in(one.value) & (self.assigned | {name})
        return one.value if steady else None

    def meaning(self, text: str) -> str:
        """A type's name without qualifiers, a template's parameter by what it stands for."""
        bare = squeeze(_QUALIFIERS.sub(" ", text))
        for _ in self.aliases:
            bare = self.aliases.get(bare, bare)
        return self.meanings.get(bare, bare)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The types that the function's own `using` and `typedef` name, as they are written there."""
        found: dict[str, str] = {}
        for node in walk(self.function):
            if node.type == "alias_declaration":
                found[text_of(child_of(node, "name"))] = text_of(child_of(node, "type"))
            elif node.type == "type_definition":
                named = node.children_by_field_name("declarator")
                found |= {
                    text_of(n): text_of(child_of(node, "type")) for n in named if n.type == "type_identifier"
                }
        return {name: squeeze(_QUALIFIERS.sub(" ", text)) for name, text in found.items() if "*" not in text}

    def cast_to(self, node: Node, written: str) -> str:
        """The type that a cast names: as it is written, or where that is no number type as the compiler resolves it."""
        kind = self.meaning(written)
        told = self.spans.get((node.start_byte, node.end_byte))
        return told if told is not None and code_of_type(kind) is None else kind

    def type_of(self, name: str) -> TypeCode | None:
        """The number type of a variable."""
        found = self.declared.get(name, [])
        if any(d.levels for d in found):
            return None
        codes = {self._code(d) for d in found}
        code = codes.pop() if len(codes) == 1 else None
        told = self.told.get(name, set())
        return code_of_type(next(iter(told))) if code is None and len(told) == 1 else code

    def _code(self, one: Declared) -> TypeCode | None:
        if one.type.split()[-1:] != ["auto"]:
            return code_of_type(self.meaning(one.type))
        value = one.value
        while value is not None and value.type == "parenthesized_expression":
            value = value.named_children[0]
        if value is None:
            return None
        if (told := self.spans.get((value.start_byte, value.end_byte))) is not None:
            return code_of_type(told)
        if value.type == "pointer_expression" and text_of(value).startswith("*"):
            return self.pointee(child_of(value, "argument"))
        if (name := called(value)) in BIT_CASTS:
            return BIT_CASTS[name][1]
        return self.element(child_of(value, "argument")) if value.type == "subscript_expression" else None

    def pointee(self, pointer: Node) -> TypeCode | None:
        """The number type that a pointer leads to."""
        text = self.pointee_type(pointer)
        return code_of_type(text) if text is not None else None

    def pointee_type(self, pointer: Node) -> str | None:
        """The name of the type that a pointer leads to."""
        kind = pointer.type
        if kind == "parenthesized_expression":
            return self.pointee_type(pointer.named_children[0])
        if kind == "cast_expression":
            return _led_to(self.cast_to(pointer, named_type(child_of(pointer, "type"))))
        if kind == "call_expression" and (cast := _CASTS.match(text_of(pointer))) is not None:
            return _led_to(self.cast_to(pointer, cast[1]))
        if kind == "pointer_expression" and text_of(pointer).startswith("&"):
            return self.object_type(child_of(pointer, "argument"))
        if kind == "binary_expression":
            return self.pointee_type(child_of(pointer, "left"))
        return self._leads_to(pointer, 1)

    def object_type(self, place: Node) -> str | None:
        """The name of the type of a variable or an element."""
        depth = 0
        inner = place
        while inner.type == "subscript_expression":
            inner, depth = child_of(inner, "argument"), depth + 1
        found = self._leads_to(inner, depth)
        return found if found is not None else self.spans.get((place.start_byte, place.end_byte))

    def element(self, base: Node) -> TypeCode | None:
        """The number type of `base[i]`."""
        depth = 1
        while base.type == "subscript_expression":
            base, depth = child_of(base, "argument"), depth + 1
        text = self._leads_to(base, depth)
        return code_of_type(text) if text is not None else None

    def _leads_to(self, base: Node, depth: int) -> str | None:
        one = self.only(text_of(base)) if base.type == "identifier" else None
        if one is not None and one.type == "auto" and one.value is not None and depth == 1 and one.levels < 2:
            return self.pointee_type(one.value)
        if one is not None and one.levels != depth:
            return None
        if one is not None:
            kind, told_of = self.meaning(one.type), self.told.get(text_of(base), set())
            resolved = next(iter(told_of)) if len(told_of) == 1 and code_of_type(kind) is None else ""
            return _led_to(resolved) if depth == 1 and resolved.count("*") == 1 else kind
        told = self.spans.get((base.start_byte, base.end_byte), "")
        return told[:-1].strip() if told.endswith("*") and told.count("*") == depth == 1 else None

    def uncast(self, pointer: Node) -> Node:
        """The pointer without casts and parentheses."""
        while True:
            if pointer.type == "parenthesized_expression":
                pointer = pointer.named_children[0]
            elif pointer.type == "cast_expression":
                pointer = child_of(pointer, "value")
            elif pointer.type == "call_expression" and _CASTS.match(text_of(pointer)):
                pointer = child_of(pointer, "arguments").named_children[0]
            else:
                return pointer

    def origin(self, pointer: Node) -> Node:
        """The pointer without casts, and without variables that only give it another name."""
        pointer = self.uncast(pointer)
        one = self.only(text_of(pointer)) if pointer.type == "identifier" else None
        if one is None or one.value is None or text_of(pointer) in self.assigned:
            return pointer
        if one.levels != 1 and (one.levels or one.type != "auto" or self.pointee_type(one.value) is None):
            return pointer
        steady = not names_in(one.value) & self.assigned and all(
            n.type != "call_expression" or _CASTS.match(text_of(n)) for n in walk(one.value)
        )
        return self.origin(one.value) if steady else pointer


def bare_pointer(node: Node, names: FunctionNames) -> str:
    """The address that a pointer, or the element that a place stands for, in one form: `p`, `&p[i]`."""
    if node.type == "subscript_expression":
        return _element(child_of(node, "argument"), child_of(node, "indices"), names)
    node = names.origin(node)
    if node.type == "pointer_expression" and text_of(node).startswith("&"):
        inner = child_of(node, "argument")
        if inner.type == "subscript_expression":
            return bare_pointer(inner, names)
        return f"&{squeeze(text_of(inner))}"
    if node.type == "binary_expression" and text_of(child_of(node, "operator")) == "+":
        return _element(child_of(node, "left"), child_of(node, "right"), names)
    return squeeze(text_of(node))


def _led_to(kind: str) -> str:
    """What the compiler's name of a pointer type leads to; a name without `*` as it is."""
    return kind.removesuffix("*").rstrip() if kind.count("*") == 1 else kind


def named_type(descriptor: Node) -> str:
    """The name of the type in a cast, without `*` and `&`."""
    return text_of(descriptor).rstrip("*& ").rstrip()


def _element(base: Node, index: Node, names: FunctionNames) -> str:
    number = squeeze(text_of(index)).removeprefix("[").removesuffix("]").strip("() ")
    outer = bare_pointer(base, names)
    return outer if number == "0" else f"&{outer}[{number}]"


def _declarations(function: Node) -> Iterator[tuple[str, Declared]]:
    for node in walk(function):
        if node.type not in ("declaration", "parameter_declaration", "optional_parameter_declaration"):
            continue
        kind = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            name = declared_name(declarator)
            if kind is None or name is None or declarator.type == "function_declarator":
                continue
            value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            shape = child_of(declarator, "declarator") if declarator.type == "init_declarator" else declarator
            inside = [n.type for n in walk(shape)]
            yield (
                text_of(name),
                Declared(
                    squeeze(_QUALIFIERS.sub(" ", text_of(kind))),
                    inside.count("pointer_declarator") + inside.count("array_declarator"),
                    "reference_declarator" in inside,
                    any(w in text_of(node).split() for w in ("__shared__", "static", "volatile")),
                    value,
                ),
            )


def _assigned(function: Node) -> Iterator[str]:
    for node in walk(function):
        if node.type == "assignment_expression":
            target: Node = child_of(node, "left")
        elif node.type == "update_expression" or (
            node.type == "pointer_expression" and text_of(node).startswith("&")
        ):
            target = child_of(node, "argument")
        else:
            continue
        if target.type == "identifier":
            yield text_of(target)
