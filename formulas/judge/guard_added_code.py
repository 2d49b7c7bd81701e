"""Functions and constants that a candidate adds beside its kernel: which of them are harmless.

Takes the parsed candidate and the bytes that replace the kernel, gives what stands there besides it, and sentences that
say why something of it is refused. Only a helper that nothing else can see or be changed by is allowed: `static`, for
the device (or `constexpr`), under a name that the file has never used, without state and without barriers.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tree_sitter import Node

from hipscope.analysis.source.nodes import BARRIERS, declared_name, text_of, walk
from hipscope.analysis.source.syntax import Span

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


def helper_reasons(original: bytes, added: Collection[Node]) -> list[str]:
    """Why what was added beside the kernel is refused; empty when all of it is harmless."""
    reasons = []
    for node in added:
        inner = node
        while inner.type == "template_declaration" and inner.named_children:
            inner = inner.named_children[-1]
        reason = _function(inner) if inner.type == "function_definition" else _constant(inner)
        if reason is None and (name := _name(inner)) is not None:
            reason = _name_reason(original, name)
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


def _name_reason(original: bytes, name: str) -> str | None:
    if _RESERVED.match(name):
        return f"`{name}` is a name of the implementation"
    if re.search(rb"\b" + re.escape(name.encode()) + rb"\b", original):
        return f"the name `{name}` is used in the file already"
    return None
