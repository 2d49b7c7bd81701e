"""Where the members of a structure lie that a kernel is given by value, worked out from its definition in the sources.

Takes source texts and a type as a parameter spells it, gives offsets in bytes by the rules of the Itanium C++ ABI for
plain structures; None wherever that would be a guess: several base classes, or one in whose padding members may lie,
virtual functions, unions, bit fields, `alignas` of members.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.source.kernel_definitions import split_arguments
from hipscope.analysis.source.nodes import child_of, declared_name, squeeze, text_of, walk
from hipscope.analysis.source.number_types import element_bytes, vector_type
from hipscope.analysis.source.parse import attribute_macros, tree_of

_POINTER_BYTES = 8
_LARGEST_ALIGNMENT = 16
_NO_DATA = {
    "access_specifier", "comment", "function_definition", "declaration", "template_declaration", "alias_declaration",
    "type_definition", "friend_declaration", "static_assert_declaration", "using_declaration",
}  # fmt: skip
_ALIGNED = re.compile(r"alignas\((\d+)\)|__attribute__\(\(aligned\((\d+)\)\)\)")
_ALIGNMENTS = (1, 2, 4, 8, 16, 32, 64)
_PLACED_OTHERWISE = re.compile(r"\b(?:virtual|alignas|__align__|__attribute__|_Pragma)\b|\[\[|#")
_SCALAR = re.compile(
    r"(?:const )?(?:(?:unsigned|signed|long|int|short|char|bool|float|double|size_t|u?int\d+_t|uint|ptrdiff_t) ?)+"
)
_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|class|typename|__restrict__|__restrict|restrict)\b")


@dataclass(frozen=True)
class Member:
    """One number or pointer in a structure: `path` as in `size.x`, offset and size in bytes, `type` as in `double*`.

    `restrict`: it is declared `__restrict__`.
    """

    path: str
    offset: int
    size: int
    type: str
    restrict: bool = False


@dataclass(frozen=True)
class Layout:
    """A structure's size and alignment in bytes, and what it holds. `padding`: bytes at its end that hold nothing."""

    size: int
    alignment: int
    members: tuple[Member, ...]
    padding: int = 0


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


def layout_of(definitions: Definitions, type_name: str, depth: int = 0) -> Layout | None:
    """The layout of a type, or None where it is not known for sure."""
    name = squeeze(_QUALIFIERS.sub(" ", type_name)).replace(" *", "*")
    if depth > 8 or "&" in name or "(" in name:
        return None
    if name.endswith("*"):
        restrict = "restrict" in type_name.rpartition("*")[2]
        return Layout(_POINTER_BYTES, _POINTER_BYTES, (Member("", 0, _POINTER_BYTES, name, restrict),))
    if name == "dim3":
        return _vector("unsigned int", 4, 3)
    if (vector := vector_type(name)) is not None and vector[1] > 1:
        return _vector(vector[0], element_bytes(vector[0]) or 0, vector[1])
    if (size := element_bytes(name)) is not None:
        return Layout(size, size, (Member("", 0, size, name),))
    if (alias := definitions.aliases.get(name)) is not None:
        return layout_of(definitions, alias, depth + 1)
    base, _, arguments = name.partition("<")
    node = definitions.structures.get(base.strip().rpartition("::")[2])
    if node is None:
        return None
    values = split_arguments(arguments.removesuffix(">")) if arguments else []
    return _structure(definitions, node, values, depth)


def member_type(definitions: Definitions, type_name: str, path: str) -> str | None:
    """The type of a member as its declaration spells it, template parameters filled in; None when it is not known."""
    name = squeeze(_QUALIFIERS.sub(" ", type_name))
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
        name = squeeze(_QUALIFIERS.sub(" ", kinds[0])).replace(" *", "*")
    return name


def structure_of(definitions: Definitions, type_name: str) -> tuple[Node, dict[str, str]] | None:
    """The definition of a type that is a structure, and the values of its template parameters."""
    name = squeeze(_QUALIFIERS.sub(" ", type_name)).replace(" *", "*").removesuffix("&").strip()
    for _ in range(8):
        if name not in definitions.aliases:
            break
        name = squeeze(_QUALIFIERS.sub(" ", definitions.aliases[name]))
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
        if known is None or len(bases) > 1 or len(found) > 8:
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


def _base_layout(definitions: Definitions, node: Node, given: Mapping[str, str], depth: int) -> Layout | None:
    """What a base class puts at the beginning; nothing without one. None where it is unknown."""
    bases = _bases(node, given)
    if not bases:
        return Layout(0, 1, ())
    base, found = layout_of(definitions, bases[0], depth + 1), structure_of(definitions, bases[0])
    if len(bases) > 1 or base is None or found is None:
        return None
    if not base.members:
        # It takes no room, unless the first member is of the same type.
        own = (
            child_of(n, "type")
            for n in child_of(node, "body").named_children
            if n.type == "field_declaration"
        )
        return None if any(structure_of(definitions, text_of(kind)) for kind in own) else Layout(0, 1, ())
    return base if not base.padding or _is_plain(found[0]) else None


def _is_plain(node: Node) -> bool:
    """Whether members of a derived structure never lie in the padding of this one: it is plain data as in C++03."""
    allowed = {
        "field_declaration",
        "comment",
        "type_definition",
        "alias_declaration",
        "static_assert_declaration",
    }
    body = child_of(node, "body")
    return (
        node.type == "struct_specifier"
        and not any(c.type == "base_class_clause" for c in node.children)
        and all(_is_plain_member(c) for c in body.named_children if c.type not in allowed)
        and not any(c.child_by_field_name("default_value") for c in body.named_children)
        and all(
            _SCALAR.fullmatch(squeeze(text_of(child_of(c, "type"))))
            or any(d.type == "pointer_declarator" for d in c.children_by_field_name("declarator"))
            for c in body.named_children
            if c.type == "field_declaration"
            and not any(map(_is_function, c.children_by_field_name("declarator")))
        )
    )


def _is_plain_member(node: Node) -> bool:
    """A member function that is neither a constructor nor a destructor, which have no type, nor an assignment."""
    return (
        node.type == "function_definition"
        and node.child_by_field_name("type") is not None
        and "operator=" not in text_of(node).partition("{")[0].replace(" ", "")
    )


def _vector(element: str, size: int, count: int) -> Layout | None:
    total = size * count
    alignment = size if count == 3 else total
    if alignment > _LARGEST_ALIGNMENT:
        return None
    members = tuple(Member("xyzw"[k], k * size, size, element) for k in range(count))
    return Layout(total, alignment, members)


def _structure(definitions: Definitions, node: Node, values: list[str], depth: int) -> Layout | None:
    body = child_of(node, "body")
    names = _template_names(node)
    least = _least_alignment(node)
    if node.has_error or len(names) != len(values) or least is None:
        return None
    given = dict(zip(names, values, strict=True))
    base = _base_layout(definitions, node, given, depth)
    if base is None:
        return None
    end, alignment = base.size, base.alignment
    members = list(base.members)
    for child in body.named_children:
        if child.type in _NO_DATA:
            continue
        fields = _fields(child, given) if child.type == "field_declaration" else None
        if fields is None:
            return None
        for name, kind, count in fields:
            part = layout_of(definitions, kind, depth + 1)
            if part is None:
                return None
            start = -(-end // part.alignment) * part.alignment
            if count == 1:
                members += (
                    replace(m, path=f"{name}.{m.path}".rstrip("."), offset=start + m.offset)
                    for m in part.members
                )
            end, alignment = start + part.size * count, max(alignment, part.alignment)
    if len(
        {m.path.partition(".")[0] for m in base.members}
        & {m.path.partition(".")[0] for m in members[len(base.members) :]}
    ):
        return None  # one name for two members
    alignment = max(alignment, least)
    size = max(1, -(-end // alignment) * alignment)
    return Layout(size, alignment, tuple(members), size - end)


def _least_alignment(node: Node) -> int | None:
    """What `alignas(16)` and the like ask of the structure as a whole; None where its members may lie elsewhere."""
    text, asked = text_of(node), 1
    for child in node.children:
        if child.type in ("alignas_qualifier", "attribute_specifier"):
            written = _ALIGNED.fullmatch(squeeze(text_of(child)).replace(" ", ""))
            if written is None or (number := int(written[1] or written[2])) not in _ALIGNMENTS:
                return None
            asked = max(asked, number)
            text = text.replace(text_of(child), "", 1)
    return None if _PLACED_OTHERWISE.search(text) else asked


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
                pointers += "*" + (" __restrict__" if _is_restrict(node) else "")
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


def _is_restrict(pointer: Node) -> bool:
    """Whether `* __restrict__ p` is one, and not what it points to."""
    inner = child_of(pointer, "declarator").id
    return any("restrict" in text_of(c) for c in pointer.named_children if c.id != inner)


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
