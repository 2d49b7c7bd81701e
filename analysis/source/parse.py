"""Reads HIP source with tree-sitter.

Takes bytes, gives exact byte spans. Never fails on broken code: it returns what it could read plus the number of
syntax errors. Nothing in here edits text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from hipscope.analysis.source.nodes import (
    BARRIERS,
    arguments_of,
    called,
    child_of,
    declared_name,
    operator_of,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import (
    Atomic,
    Barrier,
    FileSyntax,
    KernelSyntax,
    LaunchExpression,
    Parameter,
    SharedArray,
    Span,
    Subscript,
)
from hipscope.analysis.source.thread_dependence import divergence, thread_variables

_LANGUAGE = Language(tree_sitter_cuda.language())


def parse(source: bytes) -> FileSyntax:
    """Read a HIP file. Byte spans refer to `source` exactly as given, whatever its line ends."""
    root = tree_of(source, attribute_macros([source]))
    varying = thread_macros(root)
    kernels = tuple(
        _kernel(node, varying)
        for node in walk(root)
        if node.type == "function_definition" and _is_kernel(node)
    )
    return FileSyntax(
        kernels=kernels,
        launches=tuple(_launches(root)),
        constants=constants_of(root),
        errors=tuple(sorted({n.start_point.row + 1 for n in walk(root) if n.is_error or n.is_missing})),
        root=root,
    )


def device_functions(source: bytes) -> tuple[KernelSyntax, ...]:
    """The functions of a file that kernels may call, read as kernels are: plain ones, templates and members, `__host__`
    or not. What macros of the file declare otherwise than it is written is left out.
    """
    read = _blank_attribute_macros(_blank_words(source, attribute_macros([source])))
    root = exact_tree(read)
    varying = thread_macros(root)
    found = []
    for node in walk(root):
        if node.type == "function_definition" and not node.has_error and _is_device_function(node):
            function = _kernel(node, varying)
            head = slice(_behind_previous(node), function.body.start)
            if source[head] == read[head]:
                found.append(function)
    return tuple(found)


def tree_of(source: bytes, macros: Collection[bytes] = ()) -> Node:
    """The bare syntax tree; `macros` are names that stand for attributes of functions (see `attribute_macros`)."""
    plain = _blank_alone_pragmas(_blank_attribute_macros(_blank_words(source, macros)))
    return exact_tree(_end_macro_statements(_DYNAMIC_LDS.sub(_declared, plain)))


def exact_tree(source: bytes) -> Node:
    """The tree of exactly these bytes, so that a node's text is that of the source, macros included.

    But for `* const __restrict p`, which is read as `* __restrict const p`, and for `struct __align__(8)`, read as
    `struct alignas  (8)`: the grammar knows these only.
    """
    known = _ALIGNED_STRUCTURE.sub(rb"\1alignas  ", source)
    return Parser(_LANGUAGE).parse(_LATE_RESTRICT.sub(rb"\3\2\1", known)).root_node


def attribute_macros(sources: Iterable[bytes]) -> frozenset[bytes]:
    """Macros that stand for nothing but attributes of functions, as `#define HD __host__ __device__`."""
    return frozenset(match[1] for source in sources for match in _ATTRIBUTE_MACRO.finditer(source))


def thread_macros(root: Node) -> frozenset[str]:
    """Macros without parameters whose value may differ between threads: `#define TID threadIdx.x`."""
    return frozenset(
        text_of(child_of(node, "name"))
        for node in walk(root)
        if node.type == "preproc_def"
        and _BY_THREAD.search(text_of(node.child_by_field_name("value") or node))
    )


def parse_expression(text: str) -> Node | None:
    """The tree of an expression that stands in no file; None when the text is none."""
    root = exact_tree(f"int x = {text};".encode())
    if root.has_error:
        return None
    return next((v for n in walk(root) if (v := n.child_by_field_name("value")) is not None), None)


def span_of(node: Node) -> Span:
    """The node's bytes and lines."""
    return Span(node.start_byte, node.end_byte, node.start_point.row + 1, node.end_point.row + 1)


# Attributes that may stand before `__global__`, seen as macros when written in capitals (`KERNEL_API __global__`).
_MACRO = rb"[A-Z][A-Z0-9_]{2,}(?:[ \t]*\((?:[^()]|\([^()]*\))*\))?"
_MACRO_BEFORE = re.compile(
    rb"(?<!\w)(?<!#define )" + _MACRO + rb"(?=[ \t\r\n]+(?:static\s+|inline\s+|extern\s+)*__global__)"
)
_MACRO_WITHIN = re.compile(rb"(?<!\w)" + _MACRO + rb"(?=\s+[A-Za-z_]\w*\s*\()")
_ATTRIBUTE = (
    rb"(?:__(?:host|device|forceinline|inline|noinline)__|inline|static|constexpr|"
    rb"__attribute__\s*\(\([^\n]*\)\))"
)
_LOOP_PRAGMA = re.compile(
    rb"^[ \t]*#[ \t]*pragma[ \t]+(?:unroll|nounroll|clang[ \t]+loop)\b[^\r\n]*", re.MULTILINE
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OBJECT_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE)
# An indented line of nothing but words in capitals, behind a statement or a brace and before one.
_CAPITALS_ALONE = re.compile(
    rb"(?<=[;{}])\s*?\n[ \t]+([A-Z][A-Z0-9_]+(?:[ \t]+[A-Z][A-Z0-9_]+)*)(?=[ \t]*\r?\n[ \t\r\n]*[\w}])"
)
_NEXT_STATEMENT = re.compile(rb"\s+(?=[A-Za-z_}])")
_LOOKED_BACK = 256  # bytes
# A whole condition that holds nothing but such pragmas, in any of its branches.
_CONDITIONAL_PRAGMAS = re.compile(
    rb"^[ \t]*#[ \t]*if(?:n?def)?\b[^\r\n]*\r?\n"
    rb"(?:[ \t]*(?:#[ \t]*(?:(?:else|elif)\b|pragma[ \t]+(?:unroll|nounroll|clang[ \t]+loop)\b)[^\r\n]*)?\r?\n)+"
    rb"[ \t]*#[ \t]*endif\b[^\r\n]*",
    re.MULTILINE,
)
# The lines of such pragmas, comments and blank lines among them, behind the end of a loop's head or an `else`.
_ALONE_PRAGMAS = re.compile(
    rb"(?:\)|(?<!\w)(?:else|do))[ \t]*(?://[^\r\n]*)?\r?\n"
    rb"(?:[ \t]*(?:(?://|#[ \t]*pragma[ \t]+(?:unroll|nounroll|clang[ \t]+loop)\b)[^\r\n]*)?\r?\n)+"
)
_ATTRIBUTE_MACRO = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+"
    + _ATTRIBUTE
    + rb"(?:[ \t]+"
    + _ATTRIBUTE
    + rb")*[ \t\r]*$",
    re.MULTILINE,
)
_DYNAMIC_LDS = re.compile(
    rb"(?<![\w#])HIP_DYNAMIC_SHARED[ \t]*\([ \t]*([^(),#\r\n]*[^(),#\s])[ \t]*,[ \t]*([A-Za-z_]\w*)[ \t]*\)(?:[ \t]*;)?"
)
_ALIGNED_STRUCTURE = re.compile(rb"\b((?:struct|class|union)\s+)__align__(?=\s*\()")
_LATE_RESTRICT = re.compile(rb"(?<=\*)(\s*\b(?:const|volatile))(\s+)(__restrict)\b")
_BY_THREAD = re.compile(r"\b(?:threadIdx|hipThreadIdx_[xyz]|__lane_id|__builtin_amdgcn_mbcnt_lo)\b")
_MACRO_AFTER = re.compile(rb"(?<=\))\s*(" + _MACRO + rb")\s*$")


def _blank_attribute_macros(source: bytes) -> bytes:
    """The source with attribute-like macros around kernel names blanked; same length, so spans stay true."""
    blanked = bytearray(source)
    for match in _MACRO_BEFORE.finditer(source):
        line_start = source.rfind(b"\n", 0, match.start()) + 1
        if not source[line_start : match.start()].lstrip().startswith(b"#"):
            _blank(blanked, match.start(), match.end())
    for keyword in re.finditer(rb"(?<!\w)__global__(?!\w)", source):
        end = re.compile(rb"[{;]").search(source, keyword.end())
        if end is None:
            continue
        header = source[keyword.end() : end.start()]
        for match in _MACRO_WITHIN.finditer(header):
            if header[: match.start()].count(b"(") == header[: match.start()].count(b")"):
                _blank(blanked, keyword.end() + match.start(), keyword.end() + match.end())
        if after := _MACRO_AFTER.search(header):
            _blank(blanked, keyword.end() + after.start(1), keyword.end() + after.end(1))
    return bytes(blanked)


def _blank_words(source: bytes, words: Collection[bytes]) -> bytes:
    """The source with these words blanked, but where they are defined or asked for."""
    if not words:
        return source
    blanked = bytearray(source)
    for match in re.finditer(rb"(?<!\w)(?:" + b"|".join(map(re.escape, sorted(words))) + rb")(?!\w)", source):
        line = source[source.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if not line.lstrip().startswith(b"#"):
            _blank(blanked, match.start(), match.end())
    return bytes(blanked)


def _blank_alone_pragmas(source: bytes) -> bytes:
    """The source without the pragmas of loops that are alone in another loop or branch, without braces: the grammar
    takes such a line for the statement, and the loop for one that comes after it. Conditions that hold nothing but such
    pragmas go with them.
    """
    if b"pragma" not in source:
        return source
    blanked = bytearray(source)
    for condition in _CONDITIONAL_PRAGMAS.finditer(source):
        _blank(blanked, *condition.span())
    for match in _ALONE_PRAGMAS.finditer(source):
        for pragma in _LOOP_PRAGMA.finditer(match[0]):
            _blank(blanked, match.start() + pragma.start(), match.start() + pragma.end())
    return bytes(blanked)


def _end_macro_statements(source: bytes) -> bytes:
    """The source with a `;` in a blank behind each macro that stands for whole statements and has none: `STEP STEP`.

    Those are macros of the file whose text ends a statement, and what stands alone in capitals on an indented line. The
    grammar takes two of them for a declaration, and loses the function with one before its last brace.
    """
    code = _without_comments(source)
    known = _statement_macros(code)
    for found in _CAPITALS_ALONE.finditer(code):
        known |= {*found[1].split()}
    if not known:
        return source
    words = b"|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    ended, last = bytearray(source), -1
    for use in re.finditer(rb"(?<![\w.>#])(?:" + words + rb")(?!\w)", code):
        behind = _NEXT_STATEMENT.match(code, use.end())
        if behind is None or not (use.start() == last or _is_statement(code, use.start())):
            continue
        last = behind.end()
        blanks = [at for at in range(use.end(), behind.end()) if source[at] in b" \t\r"]
        if blanks:
            ended[blanks[0]] = ord(";")
    return bytes(ended)


def _statement_macros(code: bytes) -> set[bytes]:
    """The macros without parameters that a file defines as whole statements, also by way of other such macros."""
    defined = {
        found[1]: found[2].replace(b"\\\n", b" ").replace(b"\\\r\n", b" ").strip()
        for found in _OBJECT_MACRO.finditer(code)
    }
    known = {name for name, text in defined.items() if text.endswith((b";", b"}"))}
    while more := {
        name for name, text in defined.items() if name not in known and text and {*text.split()} <= known
    }:
        known |= more
    return known


def _is_statement(code: bytes, at: int) -> bool:
    """Whether a statement may begin there: behind another one, a brace or a head."""
    line = code[code.rfind(b"\n", 0, at) + 1 : at]
    if line.lstrip().startswith(b"#"):
        return False
    before = code[max(0, at - _LOOKED_BACK) : at].rstrip()
    while before.rpartition(b"\n")[2].lstrip().startswith(b"#"):  # a directive
        before = before.rpartition(b"\n")[0].rstrip()
    return before.endswith((b";", b"{", b"}", b")", b"else", b"do"))


def _without_comments(source: bytes) -> bytes:
    return _COMMENT.sub(lambda comment: re.sub(rb"[^\r\n]", b" ", comment[0]), source)


def _declared(macro: re.Match[bytes]) -> bytes:
    """What `HIP_DYNAMIC_SHARED(type, name)` declares, in as many bytes; the macro itself where it is defined."""
    line = macro.string[macro.string.rfind(b"\n", 0, macro.start()) + 1 : macro.start()]
    text = b"extern __shared__ " + macro[1] + b" " + macro[2] + b"[];"
    fits = len(text) <= len(macro[0]) and not line.lstrip().startswith(b"#")
    return text.ljust(len(macro[0])) if fits else macro[0]


def _blank(text: bytearray, start: int, end: int) -> None:
    for i in range(start, end):
        if text[i] not in b"\r\n":
            text[i] = 0x20


def _is_kernel(definition: Node) -> bool:
    body = definition.child_by_field_name("body")
    declarator = definition.child_by_field_name("declarator")
    return (
        any(child.type == "__global__" for child in definition.children)
        and body is not None
        and body.type == "compound_statement"
        and declarator is not None
        and declarator.type == "function_declarator"
    )


def _is_device_function(definition: Node) -> bool:
    body = definition.child_by_field_name("body")
    declarator = definition.child_by_field_name("declarator")
    words = {text_of(child) for child in definition.children if body is None or child.id != body.id}
    return (
        "__device__" in words
        and words.isdisjoint(("__global__", "constexpr", "virtual"))
        and body is not None
        and body.type == "compound_statement"
        and declarator is not None
        and declarator.type == "function_declarator"
        and _own_name(declarator).type in ("identifier", "field_identifier", "operator_name")
    )


def _own_name(declarator: Node) -> Node:
    """The name of a function without the classes and namespaces before it."""
    named = child_of(declarator, "declarator")
    while named.type == "qualified_identifier" and (inner := named.child_by_field_name("name")) is not None:
        named = inner
    return named


def _is_member(definition: Node, declarator: Node) -> bool:
    """Whether a function stands in a class, or may be that of one, as `Grid::at`."""
    outer = definition.parent
    while outer is not None and outer.type == "template_declaration":
        outer = outer.parent
    inside = outer is not None and outer.type == "field_declaration_list"
    return inside or child_of(declarator, "declarator").type == "qualified_identifier"


def _outer_names(body: Node, parameters: tuple[Parameter, ...]) -> frozenset[str]:
    """The names that a function uses as values and does not declare: members of its object, and what is global."""
    own = {p.name for p in parameters}
    used: set[str] = set()
    for node in walk(body):
        if node.type in _DECLARES:
            for declarator in node.children_by_field_name("declarator"):
                name = declared_name(declarator)
                own |= {text_of(name)} if name is not None else set()
        elif node.type == "identifier":
            outer = node.parent
            is_called = outer is not None and outer.type == "call_expression" and outer.child(0) == node
            used |= set() if is_called else {text_of(node)}
    return frozenset(used - own)


_DECLARES = ("declaration", "parameter_declaration", "for_range_loop", "condition_declaration")


def _behind_previous(definition: Node) -> int:
    """Where the text begins that may belong to a function's head."""
    node = definition
    while node.prev_sibling is None and node.parent is not None:
        node = node.parent
    return node.prev_sibling.end_byte if node.prev_sibling is not None else 0


def _kernel(definition: Node, varying: frozenset[str]) -> KernelSyntax:
    body = child_of(definition, "body")
    declarator = child_of(definition, "declarator")
    outer, head = definition, ""
    while outer.parent is not None and outer.parent.type in ("template_declaration", "linkage_specification"):
        outer = outer.parent
        if outer.type == "template_declaration":
            head = squeeze(text_of(child_of(outer, "parameters"))) + head
    kind = definition.child_by_field_name("type")
    dependent = thread_variables(body, varying)
    parameters = tuple(
        parameter_of(p)
        for p in child_of(declarator, "parameters").named_children
        if p.type in ("parameter_declaration", "optional_parameter_declaration")
    )
    member = _is_member(definition, declarator)
    return KernelSyntax(
        name="".join(text_of(_own_name(declarator)).split()),
        template_head=head,
        attributes=tuple(
            squeeze(text_of(c))
            for c in definition.children
            if c.id not in (body.id, declarator.id)
            and (kind is None or c.id != kind.id)
            and c.type != "comment"
        ),
        return_type=text_of(kind) if kind is not None else "",
        parameters=parameters,
        span=span_of(outer),
        body=span_of(body),
        shared=tuple(shared_arrays(body)),
        subscripts=tuple(s for n in walk(body) if (s := _subscript(n)) is not None),
        barriers=tuple(
            Barrier(span_of(n), divergence(n, body, dependent.names, dependent.uniform))
            for n in walk(body)
            if called(n) in BARRIERS
        ),
        atomics=tuple(
            _atomic(n) for n in walk(body) if (called(n) or "").startswith(("atomic", "unsafeAtomic"))
        ),
        thread_dependent=dependent.names,
        uniform_uses=dependent.uniform,
        body_node=body,
        member=member,
        state=_outer_names(body, parameters) if member else frozenset(),
    )


def parameter_of(node: Node) -> Parameter:
    """A parameter's name and type as they are written."""
    declarator = node.child_by_field_name("declarator")
    name = declared_name(declarator) if declarator is not None else None
    whole = text_of(node)
    if name is not None:
        at = name.start_byte - node.start_byte
        encoded = node.text or b""
        whole = (encoded[:at] + b" " + encoded[at + len(name.text or b"") :]).decode("utf-8", "replace")
    pointer = "*" in whole or "[" in whole
    pointee = whole.rsplit("*", 1)[0] if "*" in whole else whole
    return Parameter(
        name=text_of(name) if name is not None else "",
        type=re.sub(r"\s*([*&<>,\[\]])\s*", r"\1", squeeze(whole)).strip(),
        pointer=pointer,
        const_pointee=pointer and re.search(r"\bconst\b", pointee) is not None,
        span=span_of(node),
    )


def shared_arrays(around: Node) -> Iterator[SharedArray]:
    """The `__shared__` arrays that are declared at or below a node."""
    for declaration in walk(around):
        if declaration.type != "declaration":
            continue
        qualifiers = {
            text_of(c)
            for c in declaration.children
            if c.type in ("type_qualifier", "storage_class_specifier")
        }
        if "__shared__" not in qualifiers:
            continue
        element = declaration.child_by_field_name("type")
        for declarator in declaration.children_by_field_name("declarator"):
            sizes: list[Node | None] = []
            inner = declarator
            while inner.type == "array_declarator":
                sizes.insert(0, inner.child_by_field_name("size"))
                inner = child_of(inner, "declarator")
            name = declared_name(inner)
            yield SharedArray(
                name=text_of(name) if name is not None else "",
                element_type=squeeze(text_of(element)) if element is not None else "",
                dimensions=tuple(text_of(s) if s is not None else "" for s in sizes),
                sizes=tuple(span_of(s) for s in sizes if s is not None),
                dynamic="extern" in qualifiers,
                span=span_of(declaration),
            )


def _subscript(node: Node) -> Subscript | None:
    if node.type != "subscript_expression":
        return None
    parent = node.parent
    if (
        parent is not None
        and parent.type == "subscript_expression"
        and child_of(parent, "argument").id == node.id
    ):
        return None  # an inner part of a longer chain
    indices: list[Node] = []
    inner = node
    while inner.type == "subscript_expression":
        listed = [c for c in child_of(inner, "indices").named_children if c.type != "comment"]
        indices.append(listed[0] if listed else inner)
        inner = child_of(inner, "argument")
    member = inner.type == "field_expression" and "->" not in text_of(inner)
    if inner.type != "identifier" and not (member and child_of(inner, "argument").type == "identifier"):
        return None
    return Subscript(text_of(inner), tuple(reversed(indices)), use_of(node), node, span_of(node))


def use_of(node: Node) -> Literal["read", "write", "update", "address"]:
    """How an lvalue expression is used by what stands around it."""
    child, parent = node, node.parent
    while parent is not None and parent.type in ("parenthesized_expression", "field_expression"):
        child, parent = parent, parent.parent
    if parent is None:
        return "read"
    if parent.type == "assignment_expression" and child_of(parent, "left").id == child.id:
        return "write" if operator_of(parent) == "=" else "update"
    if parent.type == "update_expression":
        return "update"
    if parent.type == "pointer_expression" and operator_of(parent) == "&":
        return "address"
    if parent.type == "init_declarator" and child_of(parent, "declarator").type == "reference_declarator":
        return "address"
    return "read"


def _atomic(call: Node) -> Atomic:
    parent = call.parent
    discarded = parent is not None and parent.type == "expression_statement"
    return Atomic(called(call) or "", arguments_of(call), call, span_of(call), parent if discarded else None)


def _launches(root: Node) -> Iterator[LaunchExpression]:
    for node in walk(root):
        if node.type != "call_expression":
            continue
        configuration = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
        arguments = tuple(text_of(a) for a in arguments_of(node))
        if configuration is not None:
            shape = [text_of(c) for c in configuration.named_children if c.type != "comment"]
            name = called(node) or ""
        elif called(node) in ("hipLaunchKernelGGL", "hipLaunchKernelGGLInternal") and len(arguments) >= 5:
            name = re.sub(r"<.*", "", arguments[0].strip("() ")).removeprefix("HIP_KERNEL_NAME(").strip()
            shape, arguments = list(arguments[1:5]), arguments[5:]
        else:
            continue
        yield LaunchExpression(name, shape[0], shape[1], arguments, span_of(node))


def _guarded(root: Node) -> Node:
    """What stands between `#ifndef NAME`, `#define NAME` and `#endif`, where that is all of a file; else the file."""
    parts = [n for n in root.named_children if n.type not in ("comment", "preproc_call")]
    if len(parts) != 1 or parts[0].type != "preproc_ifdef" or parts[0].child_by_field_name("alternative"):
        return root
    guard, first = parts[0], next((n for n in parts[0].named_children[1:] if n.type != "comment"), None)
    name = guard.child_by_field_name("name")
    asked = guard.children[0].type == "#ifndef" and name is not None
    defined = first is not None and first.type == "preproc_def" and not first.child_by_field_name("value")
    if not asked or not defined or first is None or name is None:
        return root
    return guard if text_of(child_of(first, "name")) == text_of(name) else root


def constants_of(root: Node) -> dict[str, Node]:
    """File-level `#define N 32`, `constexpr int N = 32;` and `const int N = 32;` by name.

    A define's value is text to the parser, so it is parsed again on its own as an expression. What a header's include
    guard holds is at file level.
    """
    found: dict[str, Node] = {}
    for node in _guarded(root).children:
        if node.type == "preproc_def":
            value = node.child_by_field_name("value")
            if value is not None and (expression := parse_expression(text_of(value))) is not None:
                found[text_of(child_of(node, "name"))] = expression
        elif node.type == "declaration" and re.search(r"\b(const|constexpr)\b", text_of(node)):
            for declarator in node.children_by_field_name("declarator"):
                value = declarator.child_by_field_name("value")
                if declarator.type == "init_declarator" and value is not None:
                    found[text_of(child_of(declarator, "declarator"))] = value
    return found
