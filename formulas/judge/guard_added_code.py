"""What a candidate changes beside its kernel: the device functions that it rewrites, the helpers that it adds.

Takes both texts, gives the functions that differ, and sentences that say why something beside the kernel is refused. A
function may be rewritten in its place if no host code can run it. A helper may be added that nothing else can see or be
changed by: `static`, for the device (or `constexpr`), under a name that the file has never used, without state and
without barriers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import BARRIERS, declared_name, text_of, walk
from hipscope.analysis.source.parse import device_functions
from hipscope.analysis.source.syntax import KernelSyntax, Span
from hipscope.formulas.propose.splice import Splice, apply_splices

_RESERVED = re.compile(r"__|_[A-Z]")
# Comments, strings and other characters as C++ [lex.phases] cuts them once lines that end in a backslash are joined.
_LEXEMES = re.compile(
    rb"""//(?:[^\n\\]|\\(?:\r?\n|.))*(?P<line>\n|\Z)
    |/\*(?:(?!\*/).)*(?P<block>\*/|\Z)
    |(?<![0-9A-Za-z_])(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?:(?!\)(?P=mark)").)*(?P<raw>\)(?P=mark)"|\Z)
    |(?<![0-9A-Za-z_])(?:u8|[uUL])?(?P<quote>["'])(?:[^"'\\\n]|\\(?:\r?\n|.)|(?!(?P=quote))["'])*(?P<string>(?P=quote)|\n|\Z)
    |.""",
    re.VERBOSE | re.DOTALL,
)
# Beside those, a compiler takes from it who runs a function, and when, and what it is called.
_ATTRIBUTES = frozenset(
    {
        "always_inline",
        "noinline",
        "const",
        "pure",
        "flatten",
        "hot",
        "cold",
        "nodiscard",
        "maybe_unused",
        "unused",
        "gnu",
        "clang",
        "device",
        "host",
    }
)
_HEAD = frozenset({"__device__", "static", "inline", "__forceinline__", "__noinline__", "__inline__"})
# What makes a function that is written for the device alone one of the host as well.
_FOR_THE_HOST = re.compile(rb"force_cuda_host_device|#[ \t]*define[ \t]+__device__")
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w+)")


@dataclass(frozen=True)
class Rewritten:
    """The device functions beside the kernel that a candidate rewrites, each with the original text in which nothing
    else changes; and the candidate with all of them put back.
    """

    changed: tuple[tuple[KernelSyntax, bytes], ...]
    rest: bytes


def rewritten_functions(
    original: bytes, candidate: bytes, kernel: KernelSyntax, headers: Iterable[bytes]
) -> Rewritten:
    """The functions that no host code can run, by their names, which both texts have once."""
    texts = (original, *headers)
    around = candidate.startswith(original[: kernel.span.start]) and candidate.endswith(
        original[kernel.span.end :]
    )
    if around or any(_FOR_THE_HOST.search(text) for text in texts):
        return Rewritten((), candidate)
    macros = {name.decode() for text in texts for name in _DEFINED.findall(text)}
    before, after = _by_name(original), _by_name(candidate)
    changed: list[tuple[KernelSyntax, bytes]] = []
    back: list[Splice] = []
    for name in (n for n in before if n in after):
        was, now = before[name], after[name]
        old, new = (t[f.span.start : f.span.end] for t, f in ((original, was), (candidate, now)))
        inside = kernel.span.start <= was.span.start < kernel.span.end
        if old == new or inside or not _for_the_device_alone(was, macros):
            continue
        changed.append((was, apply_splices(original, [Splice(was.span.start, was.span.end, new)])))
        back.append(Splice(now.span.start, now.span.end, old))
    return Rewritten(tuple(changed), apply_splices(candidate, back))


def _by_name(text: bytes) -> dict[str, KernelSyntax]:
    """The functions for the device whose names no other such function of the file has."""
    found = device_functions(text)
    counts = Counter(f.name for f in found)
    return {f.name: f for f in found if counts[f.name] == 1}


def _for_the_device_alone(function: KernelSyntax, macros: Collection[str]) -> bool:
    """Whether its head says so; a macro in it may stand for anything, and what `auto` is depends on the body."""
    words = {*re.findall(r"\w+", f"{function.template_head} {function.return_type}"), *function.attributes}
    return not words & {"auto", "decltype", *macros} and _HEAD.issuperset(function.attributes)


def moved_barriers(before: KernelSyntax, after: bytes) -> str | None:
    """Why a rewritten function is refused by its barriers: who calls it, and under which condition, is elsewhere."""
    now = _by_name(after).get(before.name)
    counts = [Counter(n for n in _names(f.body_node) if n in BARRIERS) for f in (before, now or before)]
    return f"the function `{before.name}` has other barriers" if counts[0] != counts[1] else None


def _names(body: Node) -> list[str]:
    return [text_of(n) for n in walk(body) if n.type == "identifier"]


def added_nodes(root: Node, start: int, end: int, kernel: Span) -> tuple[Node, ...] | str:
    """What stands in the bytes [start, end) besides the kernel and comments; a str: it reaches beyond them."""
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.end_byte <= start or node.start_byte >= end or node.type == "comment":
            continue
        if kernel.start <= node.start_byte and node.end_byte <= kernel.end:
            continue
        if start <= node.start_byte and node.end_byte <= end:
            found.append(node)
        elif node.children:
            stack.extend(node.children)
        else:
            return f"it adds `{text_of(node)}` beside the kernel"
    return tuple(found)


def open_end(edit: bytes) -> str | None:
    """Why the text behind an edit would be read otherwise than before it; None when every token of it stays the same.

    So it is as long as the edit ends where the original did, behind a brace and in no comment, string or line to be
    continued.
    """
    last = b""
    for lexeme in _LEXEMES.finditer(edit):
        for kind in ("line", "block", "raw", "string"):
            if lexeme[kind] == b"" or (kind == "string" and lexeme[kind] == b"\n"):
                return "it ends in a comment or a string, which goes on in the text behind the kernel"
        if lexeme["line"] is None and lexeme["block"] is None and lexeme[0].strip():
            last = lexeme[0]
    if edit.rstrip(b" \t").endswith(b"\\"):
        return "its last line ends in a backslash and goes on in the text behind the kernel"
    if last not in (b"}", b";"):
        return "it does not end with the kernel or a declaration"
    return None


def helper_reasons(original: bytes, added: Collection[Node], others: Collection[bytes] = ()) -> list[str]:
    """Why what was added beside the kernel is refused; empty when all of it is harmless.

    `others` are the texts of the program's other files: one that includes this one may mean something else by the name
    of what the host can use.
    """
    reasons = []
    for node in added:
        inner = node
        while inner.type == "template_declaration" and inner.named_children:
            inner = inner.named_children[-1]
        reason = _function(inner) if inner.type == "function_definition" else _constant(inner)
        if reason is None and (name := _name(inner)) is not None:
            for_host = "__device__" not in {text_of(c) for c in inner.children}
            reason = _name_reason((original, *(others if for_host else ())), name)
        if reason is not None:
            reasons.append(f"it adds something beside the kernel: {reason}")
    return reasons


def _function(definition: Node) -> str | None:
    declarator, body = definition.child_by_field_name("declarator"), definition.child_by_field_name("body")
    if declarator is None or body is None or _name(definition) is None:
        return "a function that could not be read"
    words = {text_of(c) for c in definition.children if c.id not in (declarator.id, body.id)}
    name = _name(definition)
    if "__global__" in words:
        return f"another kernel, `{name}`"
    if not {"static", "__device__"} <= words and "constexpr" not in words:
        return f"the function `{name}` is not `static __device__`"
    if (attribute := _unusual_attribute(definition, body)) is not None:
        return f"the function `{name}` has the attribute `{attribute}`"
    barrier = next((n for n in walk(body) if n.type == "identifier" and text_of(n) in BARRIERS), None)
    if barrier is not None:
        return f"the function `{name}` has a barrier, and who calls it cannot be seen"
    if any(n.type == "static" or text_of(n) == "__shared__" for n in walk(body) if not n.children):
        return f"the function `{name}` keeps state"
    return None


def _unusual_attribute(definition: Node, body: Node) -> str | None:
    """An attribute that says more than how a function is compiled, such as one that runs it before `main`."""
    for node in walk(definition):
        if node.start_byte >= body.start_byte or not node.type.startswith(("attribute", "ms_declspec")):
            continue
        words = re.findall(r"\w+", text_of(node))
        found = [w for w in words if w.strip("_") not in _ATTRIBUTES | {"attribute", "declspec"}]
        if found:
            return str(found[0])
    return None


def _constant(node: Node) -> str | None:
    words = text_of(node).split("=")[0].split()
    if any(n.type.startswith(("attribute", "ms_declspec")) for n in walk(node)):
        words = []
    single = len(node.children_by_field_name("declarator")) == 1
    if node.type == "declaration" and "constexpr" in words and "__device__" not in words and single:
        return None
    first = " ".join(text_of(node).split())
    return f"`{first[:40]}{'...' if len(first) > 40 else ''}`"


def _name(node: Node) -> str | None:
    """The plain name that a function or constant gets; None for operators and qualified names."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "identifier":
        if declarator.type in ("qualified_identifier", "operator_name", "destructor_name"):
            return None
        deeper = declarator.child_by_field_name("declarator")
        declarator = deeper if deeper is not None else declared_name(declarator)
    return text_of(declarator) if declarator is not None else None


def _name_reason(texts: Iterable[bytes], name: str) -> str | None:
    if _RESERVED.match(name):
        return f"`{name}` is a name of the implementation"
    for number, text in enumerate(texts):
        if re.search(rb"\b" + re.escape(name.encode()) + rb"\b", text):
            where = "the file already" if number == 0 else "another file of the program"
            return f"the name `{name}` is used in {where}"
    return None
