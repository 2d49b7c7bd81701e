"""Puts what names and calls of helpers stand for into an expression, in the kernel's own names.

Only where a function is one `return` (local constants before it are filled in), a macro is a plain expression, and a
local is a view or a pointer that the kernel was given. All else raises `CannotSee`, with the reason. Nothing is guessed
about types, overloads or names that mean something else in the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.source.aliases import Alias, aliases_in
from hipscope.analysis.source.array_accesses import pointer_of
from hipscope.analysis.source.functions import Callables, Function
from hipscope.analysis.source.nodes import (
    arguments_of,
    called,
    child_of,
    declared_name,
    operator_of,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.parse import parse_expression
from hipscope.analysis.source.structures import Definitions, lineage, member_type, structure_of
from hipscope.analysis.source.syntax import KernelSyntax

_DEEPEST = 8
_LONGEST = 4000  # characters of an expression that was filled in
_ATOM = re.compile(r"[\w.]+|\(.*\)|[\w.:<>]+\([^()]*\)|[\w.]+(?:\[[^\[\]]*\])+", re.DOTALL)
# `(j) + n * i`: with a variable for `j` the grammar takes it for a cast of `+n` to a type `j`, so the parentheses go.
_IN_PARENTHESES = re.compile(r"(?<![\w)\]>])(?<![\w)\]>] )\(\s*(?P<name>\w+)\s*\)(?=\s*[-+])")
_NARROW = re.compile(r"\b(?:char|short|bool|u?int8_t|u?int16_t|uchar|ushort)\b")
WHOLE = re.compile(
    r"(?:const )?(?:(?:unsigned|signed|long|int|size_t|u?int(?:32|64)_t|uint|auto|ptrdiff_t) ?)+"
)
_CHANGES = (
    "assignment_expression",
    "update_expression",
    "lambda_expression",
    "gnu_asm_expression",
    "new_expression",
)


class CannotSee(Exception):
    """The reason, as the end of a sentence."""


@dataclass(frozen=True)
class ExpressionPlace:
    """Where an expression stands: what its names are (texts of the kernel), and the object whose member it is in."""

    names: Mapping[str, str]
    owner: str | None = None
    given: Mapping[str, str] | None = None


KERNEL = ExpressionPlace({})


@dataclass(frozen=True)
class Scope:
    """What the names of a kernel are.

    `types` are the values of its template parameters, where known; `declared` its parameters and locals; `changed` the
    names whose members it sets; `aliases` what its locals stand for, by name.
    """

    kernel: KernelSyntax
    callables: Callables
    definitions: Definitions
    types: Mapping[str, str]
    declared: frozenset[str]
    changed: frozenset[str]
    aliases: Mapping[str, str]


def scope_of(
    kernel: KernelSyntax, callables: Callables, definitions: Definitions, types: Mapping[str, str]
) -> Scope:
    """The names of the kernel, with those of its locals that stand for a view or a pointer of its own."""
    declared = {p.name for p in kernel.parameters} | {
        text_of(name)
        for node in walk(kernel.body_node)
        if node.type == "declaration"
        for declarator in node.children_by_field_name("declarator")
        if (name := declared_name(declarator)) is not None
    }
    changed = {
        text_of(inner)
        for node in walk(kernel.body_node)
        if node.type in ("assignment_expression", "update_expression")
        for target in [node.child_by_field_name("left") or child_of(node, "argument")]
        if target.type in ("field_expression", "identifier")
        for inner in [child_of(target, "argument")]
    }
    scope = Scope(kernel, callables, definitions, types, frozenset(declared), frozenset(changed), {})
    for alias in aliases_in(kernel).values():  # in their order: one may be of another
        if (text := _meant(scope, alias)) is not None:
            scope = replace(scope, aliases={**scope.aliases, alias.name: text})
    return scope


def _meant(scope: Scope, alias: Alias) -> str | None:
    """What a local stands for, if it is a view of the kernel's, or a place that one of its pointers leads to."""
    try:
        text = expand(scope, alias.value, KERNEL, 0)
    except CannotSee:
        return None
    if structure_at(scope, text) is not None:
        return None if alias.pointer else text
    meaning = parse_expression(text)
    found = pointer_of(meaning) if meaning is not None else None
    return f"({text})" if found is not None and _is_pointer(scope, found[0]) else None


def _is_pointer(scope: Scope, name: str) -> bool:
    root, _, path = name.partition(".")
    parameter = scope.kernel.parameter(root)
    if parameter is None or root in scope.changed:
        return False
    if not path:
        return parameter.pointer
    kind = "".join(scope.types.get(w, w) for w in re.split(r"(\w+)", parameter.type))
    return not parameter.pointer and (member_type(scope.definitions, kind, path) or "").endswith("*")


def expand(scope: Scope, node: Node, place: ExpressionPlace, depth: int) -> str:
    """The expression in the kernel's own names. Raises CannotSee."""
    if depth > _DEEPEST:
        raise CannotSee("it calls too deep")
    if node.type in _CHANGES:
        raise CannotSee(f"`{squeeze(text_of(node))[:40]}` changes something")
    if node.type == "identifier":
        return _name(scope, node, place)
    if node.type == "qualified_identifier":
        return text_of(node)
    if node.type == "call_expression":
        return _call(scope, node, place, depth)
    if node.type == "subscript_expression":
        inner = expand(scope, child_of(node, "argument"), place, depth)
        if (structure := structure_at(scope, inner)) is not None:
            listed = [c for c in child_of(node, "indices").named_children if c.type != "comment"]
            return _method(scope, inner, structure, "operator[]", _texts(scope, listed, place, depth), depth)
    if node.type == "field_expression":
        argument = child_of(node, "argument")
        if argument.type == "this":
            if place.owner is None:
                raise CannotSee("`this` is not known")
            return f"{place.owner}.{text_of(child_of(node, 'field'))}"
        if operator_of(node) == "->" and (
            place.owner is not None or _leads_on(scope, argument, text_of(child_of(node, "field")))
        ):
            raise CannotSee("it goes through a pointer to a structure")
    pieces, whole, position = [], node.text or b"", node.start_byte
    for child in node.children:
        pieces.append(whole[position - node.start_byte : child.start_byte - node.start_byte].decode())
        pieces.append(expand(scope, child, place, depth) if child.is_named else text_of(child))
        position = child.end_byte
    pieces.append(whole[position - node.start_byte :].decode("utf-8", "replace"))
    text = "".join(pieces)
    if len(text) > _LONGEST:
        raise CannotSee("it grows too long")
    return text


def _leads_on(scope: Scope, argument: Node, field: str) -> bool:
    """Whether `argument->field` is a pointer in a structure in memory: no launch records its target."""
    parameter = scope.kernel.parameter(text_of(argument))
    if parameter is None or not parameter.pointer:
        return False
    kind = "".join(scope.types.get(w, w) for w in re.split(r"(\w+)", parameter.element_type))
    return (member_type(scope.definitions, kind, field) or "").endswith("*")


def _texts(
    scope: Scope, nodes: list[Node] | tuple[Node, ...], place: ExpressionPlace, depth: int
) -> list[str]:
    return [expand(scope, n, place, depth) for n in nodes]


def _name(scope: Scope, node: Node, place: ExpressionPlace) -> str:
    name = text_of(node)
    if place is KERNEL:
        return scope.aliases.get(name, name)
    if name in place.names:
        return place.names[name]
    if place.owner is not None:
        structure = structure_at(scope, place.owner)
        if structure is not None and member_type(scope.definitions, structure, name) is not None:
            return f"{place.owner}.{name}"
    if place.given is not None and name in place.given:
        return f"({place.given[name]})"
    if name in scope.declared:
        raise CannotSee(f"`{name}` means something else in the kernel")
    return name


def structure_at(scope: Scope, text: str) -> str | None:
    """The structure that a parameter, or a member of one, is by value; None for anything else."""
    bare = text.strip()
    while bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1].strip()
    if not re.fullmatch(r"\w+(\.\w+)*", bare):
        return None
    root, _, path = bare.partition(".")
    parameter = scope.kernel.parameter(root)
    if parameter is None or parameter.pointer or root in scope.changed:
        return None
    kind: str | None = "".join(scope.types.get(w, w) for w in re.split(r"(\w+)", parameter.type))
    if path and kind is not None:
        kind = member_type(scope.definitions, kind, path)
    return kind if kind is not None and structure_of(scope.definitions, kind) is not None else None


def _call(scope: Scope, node: Node, place: ExpressionPlace, depth: int) -> str:
    function, arguments = child_of(node, "function"), arguments_of(node)
    if function.type == "field_expression":
        if operator_of(function) == "->" and child_of(function, "argument").type != "this":
            raise CannotSee("it goes through a pointer to a structure")
        inner = child_of(function, "argument")
        if inner.type == "this":
            owner = place.owner or ""
        else:
            owner = expand(scope, inner, place, depth)
        structure = structure_at(scope, owner)
        if structure is None:
            raise CannotSee(f"the value of `{squeeze(text_of(inner))}` is unknown")
        name = re.sub(r"<.*", "", text_of(child_of(function, "field")))
        if (callable_member := structure_at(scope, f"{owner}.{name}")) is not None:
            owner, structure, name = f"{owner}.{name}", callable_member, "operator()"
        return _method(scope, owner, structure, name, _texts(scope, arguments, place, depth), depth)
    name = (called(node) or "").rpartition("::")[2]
    object_text = place.names.get(name, scope.aliases.get(name, name) if place is KERNEL else name)
    if (structure := structure_at(scope, object_text)) is not None:
        return _method(
            scope, object_text, structure, "operator()", _texts(scope, arguments, place, depth), depth
        )
    if place.owner is not None:
        structure = structure_at(scope, place.owner)
        if structure is not None and _methods(scope, structure, name):
            return _method(scope, place.owner, structure, name, _texts(scope, arguments, place, depth), depth)
    if name in scope.callables.macros:
        return _macro(scope, node, name, [text_of(a) for a in arguments], place, depth)
    if name in scope.callables.functions:
        chosen = _only(name, scope.callables.functions[name], len(arguments))
        return _returned(scope, chosen, _texts(scope, arguments, place, depth), None, None, depth)
    return _plain_call(scope, node, function, arguments, place, depth)


def _plain_call(
    scope: Scope, node: Node, function: Node, arguments: tuple[Node, ...], place: ExpressionPlace, depth: int
) -> str:
    """A call of nothing that the program defines, with its arguments filled in."""
    if place is not KERNEL and called(node) in scope.declared:
        raise CannotSee(f"`{called(node)}` means something else in the kernel")
    head = (node.text or b"")[: function.end_byte - node.start_byte].decode("utf-8", "replace")
    given = _texts(scope, arguments, place, depth)
    if place is KERNEL and given == [text_of(a) for a in arguments]:
        return text_of(node)
    return f"{head}({', '.join(given)})"


def _methods(scope: Scope, structure: str, name: str) -> tuple[tuple[Function, Mapping[str, str]], ...]:
    """Those of the structure and of its bases, with what template parameters stand for there."""
    return tuple(
        (function, given)
        for node, given in lineage(scope.definitions, structure)
        for function in scope.callables.methods.get(
            (text_of(child_of(node, "name")).partition("<")[0], name), ()
        )
    )


def _method(scope: Scope, owner: str, structure: str, name: str, arguments: list[str], depth: int) -> str:
    listed = _methods(scope, structure, name)
    if not listed:
        raise CannotSee(f"no definition of `{name}` was found in `{structure}`")
    chosen = _only(name, tuple(function for function, _ in listed), len(arguments))
    given = next(given for function, given in listed if function is chosen)
    return _returned(scope, chosen, arguments, owner, given, depth)


def _returned(
    scope: Scope,
    function: Function,
    arguments: list[str],
    owner: str | None,
    given: Mapping[str, str] | None,
    depth: int,
) -> str:
    """What the function returns, for these arguments."""
    names: dict[str, str] = {}
    for (name, kind), text in zip(function.parameters, arguments, strict=True):
        if not name:
            raise CannotSee(f"`{function.name}` has a parameter without a name or with a default value")
        if _NARROW.search(kind) and not any(mark in kind for mark in "*&["):
            raise CannotSee(f"`{function.name}` takes `{name}` as `{kind}`, which may cut its value")
        names[name] = text if _ATOM.fullmatch(text) and _balanced(text) else f"({text})"
    statements = [
        s for s in function.body.named_children if s.type not in ("comment", "static_assert_declaration")
    ]
    if not statements or statements[-1].type != "return_statement" or not statements[-1].named_children:
        raise CannotSee(f"`{function.name}` is more than one `return`")
    for statement in statements[:-1]:
        if (local := _local_constant(statement)) is None:
            raise CannotSee(f"`{function.name}` is more than one `return`")
        target, value = local
        place = ExpressionPlace(names, owner, given)
        names = {**names, target: f"({expand(scope, value, place, depth + 1)})"}
    place = ExpressionPlace(names, owner, given)
    text = expand(scope, statements[-1].named_children[0], place, depth + 1)
    return text if function.returns.endswith(("&", "*")) and _ATOM.fullmatch(text) else f"({text})"


def _macro(
    scope: Scope, node: Node, name: str, arguments: list[str], place: ExpressionPlace, depth: int
) -> str:
    listed = scope.callables.macros[name]
    macro = listed[0]
    if len({(m.parameters, m.text) for m in listed}) > 1 or name in scope.callables.functions:
        raise CannotSee(f"`{name}` is defined more than once")
    if macro.parameters is None or "..." in macro.parameters or "#" in macro.text:
        raise CannotSee(f"`{name}` is no plain macro with parameters")
    if len(macro.parameters) != len(arguments):
        raise CannotSee(f"`{name}` takes {len(macro.parameters)} arguments")
    if not (_ATOM.fullmatch(macro.text) and _balanced(macro.text)) and not _stands_alone(node):
        raise CannotSee(f"the text of the macro `{name}` is not in parentheses")
    values = dict(zip(macro.parameters, arguments, strict=True))
    named = {p for p, given in values.items() if given in scope.declared or given in place.names}
    text = _IN_PARENTHESES.sub(lambda m: m["name"] if m["name"] in named else m[0], macro.text)
    inner = parse_expression("".join(values.get(w, w) for w in re.split(r"(\b\w+\b)", text)))
    if inner is None:
        raise CannotSee(f"the macro `{name}` is no expression")
    return expand(scope, inner, place, depth + 1)


def _only(name: str, listed: tuple[Function, ...], count: int) -> Function:
    """The one definition with so many parameters; several that say the same are one."""
    fitting = [f for f in listed if len(f.parameters) == count]
    if not fitting:
        raise CannotSee(f"no definition of `{name}` takes {count} arguments")
    if len({(f.text, tuple(n for n, _ in f.parameters)) for f in fitting}) > 1:
        raise CannotSee(f"`{name}` is defined more than once")
    return fitting[0]


def _local_constant(statement: Node) -> tuple[str, Node] | None:
    """(name, value) of `const int row = i * ld;`; None for any other statement."""
    declarators, kind = statement.children_by_field_name("declarator"), statement.child_by_field_name("type")
    if statement.type != "declaration" or kind is None or len(declarators) != 1:
        return None
    target, value = (declarators[0].child_by_field_name(f) for f in ("declarator", "value"))
    if target is None or value is None or target.type != "identifier" or not WHOLE.fullmatch(text_of(kind)):
        return None
    return text_of(target), value


def _balanced(text: str) -> bool:
    """Whether the first bracket, if the text begins with one, is closed by its last character."""
    if not text.startswith("("):
        return True
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return position == len(text) - 1
    return False


def _stands_alone(node: Node) -> bool:
    """Whether nothing next to the call binds stronger than what is in it."""
    parent = node.parent
    return parent is not None and parent.type in (
        "parenthesized_expression", "argument_list", "subscript_argument_list", "init_declarator", "return_statement",
        "expression_statement",
    )  # fmt: skip
