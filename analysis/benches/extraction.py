"""Takes kernels out of a file with what they need, where the rest of it is for headers that are not there.

An `Extraction` takes the text of the file, gives the same text with blanks for all that the kernels do not use: each
byte that stays is where it was, so that lines, findings and edits are those of the file. Extensions of PyTorch are such
files: their kernels are plain, their host code and headers are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.nodes import text_of, walk
from hipscope.analysis.source.parse import attribute_macros, tree_of

_NAMES = frozenset(("identifier", "type_identifier", "field_identifier", "namespace_identifier"))
_CONDITIONS = frozenset(("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef"))
_SCOPES = _CONDITIONS | {"namespace_definition", "declaration_list", "linkage_specification", "preproc_else"}
_MACROS = frozenset(("preproc_def", "preproc_function_def"))
_DIRECTIVES = frozenset(("preproc_call", "comment"))
_HOST_LIBRARIES = re.compile(
    r"#[ \t]*include[ \t]*[<\"](?:torch/|ATen/|c10/|caffe2/|THC/|pybind11/|Python\.h|cuda|cublas|cusparse|cudnn)"
)
_CUDA_CALL = re.compile(r"\bcuda(?:Malloc|Memcpy|Memset|Free|DeviceSynchronize|GetLastError)\w*\s*\(")
_DEVICE_WORDS = re.compile(r"__device__|__global__|\bconstexpr\b|\b[A-Z][A-Z0-9_]{2,}\b")
_OF_TORCH = re.compile(rb"\b(?:at|c10|torch|caffe2)\s*::\s*\w+|\b(?:AT|C10|TORCH|CUDA)_[A-Z_]+\b")


@dataclass(frozen=True)
class Extraction:
    """Takes out the kernels of these names. Called with a text, it gives the text that the compiler is to see."""

    kernels: frozenset[str]

    def __call__(self, text: bytes) -> bytes:
        """The text with blanks for what the kernels do not use."""
        kept = bytearray(text)
        for item in self._left_out(text):
            at = kept[item.start_byte : item.end_byte]
            kept[item.start_byte : item.end_byte] = re.sub(rb"[^\r\n]", b" ", bytes(at))
        return bytes(kept)

    def obstacle(self, text: bytes) -> tuple[int, str] | None:
        """What of PyTorch the kernels use: the line and the word; None when they use nothing of it."""
        for number, line in enumerate(_without_comments(self(text)).split(b"\n"), 1):
            found = None if line.lstrip().startswith(b"#") else _OF_TORCH.search(line)
            if found is not None and not _is_defined(found[0], text):
                return number, re.sub(r"\s", "", found[0].decode("utf-8", "replace"))
        return None

    def _left_out(self, text: bytes) -> list[Node]:
        items = list(_items(tree_of(text, attribute_macros([text]))))
        names = {item.id: _declared(item) for item in items}
        needed = set(self.kernels)
        kept: set[int] = set()
        while found := [item for item in items if item.id not in kept and needed & names[item.id]]:
            kept |= {item.id for item in found}
            needed |= {name for item in found for name in _used(item)}
        scopes = {name for item in items if item.id in kept for name in _namespaces(item)}
        return [item for item in items if item.id not in kept and not _stays(item, scopes)]


def needs_extraction(text: str) -> bool:
    """Whether a file includes headers of PyTorch, CUDA or Python, which no HIP compiler reads, or calls CUDA."""
    if any(_HOST_LIBRARIES.match(line.lstrip()) for line in text.splitlines()):
        return True
    return (
        "hip/hip_" not in text and _CUDA_CALL.search(text) is not None
    )  # nvcc includes its headers by itself


def _items(node: Node) -> Iterator[Node]:
    """What a file declares, defines and includes outside of functions and classes."""
    for child in node.named_children:
        if child.type in _SCOPES:
            yield from _items(child)
        elif child.type not in ("namespace_identifier", "string_literal", "nested_namespace_specifier") and (
            node.type not in _CONDITIONS
            or child not in (node.child_by_field_name("condition"), node.child_by_field_name("name"))
        ):
            yield child


def _declared(item: Node) -> set[str]:
    """The names that an item gives to something."""
    if item.type == "template_instantiation":
        return {text_of(n) for n in walk(item) if n.type in _NAMES}
    inner = item
    while inner.type == "template_declaration":
        inner = inner.named_children[-1]
    if inner.type == "function_definition" and _host_only(inner):
        return set()  # no kernel calls it; a parameter or local may have its name
    if inner.type in _MACROS or inner.type in ("alias_declaration", "concept_definition"):
        name = inner.child_by_field_name("name")
        return {text_of(name)} if name is not None else set()
    if inner.type == "type_definition":
        declarators = inner.children_by_field_name("declarator")
        return {text_of(n) for d in declarators for n in walk(d) if n.type in _NAMES}
    found: set[str] = set()
    kind = inner if inner.type.endswith("_specifier") else inner.child_by_field_name("type")
    if kind is not None and kind.type.endswith("_specifier"):
        name = kind.child_by_field_name("name")
        found |= {base_name(text_of(name))} if name is not None else set()
        if kind.type == "enum_specifier":
            found |= {text_of(n) for n in walk(kind) if n.type == "identifier"}
    for declarator in inner.children_by_field_name("declarator"):
        found |= _declarator_names(declarator)
    return found


def _host_only(function: Node) -> bool:
    """Whether a function has neither the words of a device function nor a macro that may stand for them."""
    head = (function.text or b"").partition(b"(")[0].decode("utf-8", "replace")
    attributes = [
        text_of(child) for child in function.children if child.type.endswith(("modifier", "specifier"))
    ]
    return _DEVICE_WORDS.search(" ".join([head, *attributes])) is None


def _declarator_names(declarator: Node) -> set[str]:
    """The name that a declarator declares; of a member that is defined outside of its class, that of the class, too."""
    node: Node | None = declarator
    while node is not None:
        if node.type in ("identifier", "field_identifier", "operator_name"):
            return {text_of(node)}
        if node.type in ("qualified_identifier", "template_function"):
            return {text_of(n) for n in walk(node) if n.type in _NAMES}
        inner = node.child_by_field_name("declarator")
        node = inner if inner is not None else (node.named_children[-1] if node.named_children else None)
    return set()


def _used(item: Node) -> set[str]:
    """All names in an item; of a macro the words of its text."""
    names = {text_of(n) for n in walk(item) if n.type in _NAMES}
    macros = (n for n in walk(item) if n.type == "preproc_arg")
    return names | {word for n in macros for word in re.findall(r"[A-Za-z_]\w*", text_of(n))}


def _namespaces(item: Node) -> Iterator[str]:
    node = item.parent
    while node is not None:
        name = node.child_by_field_name("name") if node.type == "namespace_definition" else None
        if name is not None:
            yield text_of(name)
        node = node.parent


def _stays(item: Node, scopes: set[str]) -> bool:
    """Whether an item stays that no kernel names: macros, directives, headers of others, `using namespace std`."""
    if item.type in _MACROS or item.type in _DIRECTIVES:
        return True
    if item.type == "preproc_include":
        return _HOST_LIBRARIES.match(text_of(item)) is None
    if item.type == "using_declaration":
        words = re.findall(r"\w+", text_of(item))
        return "std" in words or ("namespace" in words and words[-1] in scopes)
    return False


def _is_defined(word: bytes, text: bytes) -> bool:
    """Whether a macro that looks like PyTorch's is the file's own."""
    return re.search(rb"#[ \t]*define[ \t]+" + re.escape(word) + rb"\b", text) is not None


def _without_comments(text: bytes) -> bytes:
    return re.sub(rb"//[^\n]*|/\*.*?\*/", lambda m: re.sub(rb"[^\n]", b" ", m[0]), text, flags=re.DOTALL)
