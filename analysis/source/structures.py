"""The structures and type aliases of some sources: their definitions, base classes and members' types, as written.

Takes source texts and a type as a parameter spells it; nothing, or None, where a definition is not found or is not the
only one. Where members lie the compiler says (`semantics/layouts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.nodes import child_of, declared_name, squeeze, text_of, walk
from hipscope.analysis.source.number_types import element_bytes
from hipscope.analysis.source.parse import attribute_macros, tree_of

_DEEPEST = 8  # aliases of aliases, structures in structures, base classes
_NO_DATA = {
    "access_specifier", "comment", "function_definition", "declaration", "template_declaration", "alias_declaration",
    "type_definition", "friend_declaration", "static_assert_declaration", "using_declaration",
}  # fmt: skip
_SCALAR = re.compile(
    r"(?:const )?(?:(?:unsigned|signed|long|int|short|char|bool|float|double|size_t|u?int\d+_t|uint|ptrdiff_t) ?)+"
)
_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|class|typename|__restrict__|__restrict|restrict)\b")


@dataclass(frozen=True)
class Definitions:
    """The structures and type aliases of some sources, by name; a name with two definitions is left out."""

    structures: Mapping[str, Node]
    aliases: Mapping[str, str]


def definitions_in(texts: Iterable[bytes]) -> Definitions:
    """All structures and aliases that the texts define at any level; macros of a number's type are aliases."""
    structures: dict[str, list[Node]] = {}
    aliases: dict[str, list[str]] = {}
    texts = tuple(dict.fromkeys(texts))
    macros = attribute_macros(texts)
    for text in texts:
        if b"#pragma pack" in text:
            continue
        for node in walk(tree_of(text, macros)):
            if (structure := _structure_in(node)) is not None:
                structures.setdefault(structure[0], []).append(structure[1])
            if (alias := _alias_in(node)) is not None:
                aliases.setdefault(alias[0], []).append(alias[1])
    return Definitions(
        {name: found[0] for name, found in structures.items() if len(found) == 1},
        {name: found[0] for name, found in aliases.items() if len(set(found)) == 1},
    )


def _structure_in(node: Node) -> tuple[str, Node] | None:
    """Name and definition of the structure that a node defines; one without a name has that of its `typedef`."""
    if node.type not in ("struct_specifier", "class_specifier") or not node.child_by_field_name("body"):
        return None
    if (name := node.child_by_field_name("name")) is not None:
        return text_of(name), node
    outer = node.parent
    if outer is None or outer.type != "type_definition" or _has_attributes(outer):
        return None
    declared = outer.child_by_field_name("declarator")
    return (text_of(declared), node) if declared is not None and declared.type == "type_identifier" else None


def _alias_in(node: Node) -> tuple[str, str] | None:
    """Name and type of the alias that a node declares."""
    name = node.child_by_field_name("name")
    if node.type == "alias_declaration" and name is not None:
        return text_of(name), text_of(child_of(node, "type"))
    if node.type == "preproc_def" and name is not None:
        meant = squeeze(text_of(child_of(node, "value")).partition("//")[0])
        return (text_of(name), meant) if _SCALAR.fullmatch(meant) and not _given_otherwise(node) else None
    if node.type != "type_definition" or _has_attributes(node):
        return None
    declared = declared_name(child_of(node, "declarator")) or node.child_by_field_name("declarator")
    kind = child_of(node, "type")
    if declared is None:
        return None
    if kind.child_by_field_name("body") is None:
        return text_of(declared), text_of(kind)
    own = kind.child_by_field_name("name")
    return (
        (text_of(declared), text_of(own)) if own is not None and text_of(own) != text_of(declared) else None
    )


def _has_attributes(definition: Node) -> bool:
    """Whether a `typedef` gives its name other bytes than its type has (`ext_vector_type`, `aligned`)."""
    return any(c.type == "attribute_specifier" for c in definition.children)


def _given_otherwise(macro: Node) -> bool:
    """Whether a macro stands under `#ifndef` of its own name, or the like: the command line may say something else."""
    name = text_of(child_of(macro, "name"))
    outer = macro.parent
    while outer is not None:
        asked = outer.child_by_field_name("name") or outer.child_by_field_name("condition")
        if outer.type.startswith("preproc_") and re.search(rf"\b{name}\b", text_of(asked) if asked else ""):
            return True
        outer = outer.parent
    return False


def holds_numbers(definitions: Definitions, type_name: str, depth: int = 0) -> bool:
    """Whether a type is a number, or a structure of nothing but numbers; not where that is unknown."""
    name = _bare(type_name)
    if depth > _DEEPEST or name.endswith(("*", "&")) or "(" in name:
        return False
    if element_bytes(name) is not None or name == "dim3":
        return True
    if (alias := definitions.aliases.get(name)) is not None:
        return holds_numbers(definitions, alias, depth + 1)
    known = lineage(definitions, name)
    held = [
        _fields(member, given) if member.type == "field_declaration" else None
        for node, given in known
        for member in child_of(node, "body").named_children
        if member.type not in _NO_DATA
    ]
    return bool(known) and all(
        fields is not None and all(holds_numbers(definitions, kind, depth + 1) for _, kind, _ in fields)
        for fields in held
    )


def _bare(type_name: str) -> str:
    """A type without its qualifiers."""
    return squeeze(_QUALIFIERS.sub(" ", type_name)).replace(" *", "*")


def member_type(definitions: Definitions, type_name: str, path: str) -> str | None:
    """The type of a member as its declaration spells it, template parameters filled in; None when it is not known."""
    name = _bare(type_name)
    for part in path.split("."):
        declared = [
            (field, kind + ("" if count == 1 else "[]"))
            for node, given in lineage(definitions, name)
            for child in child_of(node, "body").named_children
            if child.type == "field_declaration"
            for field, kind, count in _fields(child, given) or ()
        ]
        kinds = [kind for field, kind in declared if field == part]
        if len(kinds) != 1:
            return None
        name = _bare(kinds[0])
    return name


def structure_of(definitions: Definitions, type_name: str) -> tuple[Node, dict[str, str]] | None:
    """The definition of a type that is a structure, and the values of its template parameters."""
    name = _bare(type_name).removesuffix("&").strip()
    for _ in range(_DEEPEST):
        if name not in definitions.aliases:
            break
        name = _bare(definitions.aliases[name])
    base, _, arguments = name.partition("<")
    node = definitions.structures.get(base.strip().rpartition("::")[2])
    if node is None or name.endswith("*"):
        return None
    values = split_arguments(arguments.removesuffix(">")) if arguments else []
    names = _template_names(node)
    return (node, dict(zip(names, values, strict=True))) if len(names) == len(values) else None


def lineage(definitions: Definitions, type_name: str) -> list[tuple[Node, dict[str, str]]]:
    """`structure_of` a type, then of its base, and of that one's base; empty where one of them is not known."""
    found: list[tuple[Node, dict[str, str]]] = []
    name: str | None = type_name
    while name is not None:
        known = structure_of(definitions, name)
        bases = _bases(*known) if known is not None else ()
        if known is None or len(bases) > 1 or len(found) > _DEEPEST:
            return []
        found.append(known)
        name = bases[0] if bases else None
    return found


def _bases(node: Node, given: Mapping[str, str]) -> tuple[str, ...]:
    """The types of its base classes as written, template parameters filled in."""
    listed = [
        c
        for clause in node.children
        if clause.type == "base_class_clause"
        for c in clause.named_children
        if c.type not in ("access_specifier", "comment")
    ]
    return tuple("".join(given.get(w, w) for w in re.split(r"(\w+)", text_of(c))) for c in listed)


def _fields(declaration: Node, given: Mapping[str, str]) -> list[tuple[str, str, int]] | None:
    """Name, type and count of what one declaration declares; [] for a function or a static member."""
    declarators = declaration.children_by_field_name("declarator")
    if any(_is_function(d) for d in declarators):
        return []
    if any(c.type == "storage_class_specifier" for c in declaration.children):
        return []
    known = {"type_qualifier", "comment"}
    initial = {n.id for n in declaration.children_by_field_name("default_value")}
    kind = child_of(declaration, "type")
    odd = [
        c
        for c in declaration.named_children
        if c.type not in known
        and c.id not in initial
        and c.id != kind.id
        and c.id not in {d.id for d in declarators}
    ]
    if odd or kind.child_by_field_name("body") is not None:
        return None
    words = [given.get(word, word) for word in re.split(r"(\w+)", text_of(kind))]
    return _declared("".join(words), declarators)


def _is_function(declarator: Node) -> bool:
    """Whether it declares a member function, and not a pointer to one."""
    while declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = declarator.named_children[-1]
    if declarator.type != "function_declarator":
        return False
    return child_of(declarator, "declarator").type != "parenthesized_declarator"


def _declared(kind: str, declarators: Iterable[Node]) -> list[tuple[str, str, int]] | None:
    found = []
    for declarator in declarators:
        pointers, count, node = "", 1, declarator
        while node.type in ("pointer_declarator", "array_declarator"):
            if node.type == "pointer_declarator":
                if count > 1:
                    return None
                pointers += "*"
            else:
                size = text_of(child_of(node, "size"))
                if not size.isdigit():
                    return None
                count *= int(size)
            node = child_of(node, "declarator")
        if node.type != "field_identifier":
            return None
        # Elements of an array have no names: only the offset identifies one.
        found.append((text_of(node), kind + pointers, count))
    return found


def _template_names(node: Node) -> list[str]:
    outer = node.parent
    if outer is None or outer.type != "template_declaration":
        return []
    return [text_of(n) for n in _parameter_names(child_of(outer, "parameters"))]


def _parameter_names(parameters: Node) -> Iterator[Node]:
    for parameter in parameters.named_children:
        names = [n for n in walk(parameter) if n.type in ("type_identifier", "identifier")]
        if names:
            yield names[-1] if parameter.type == "parameter_declaration" else names[0]
