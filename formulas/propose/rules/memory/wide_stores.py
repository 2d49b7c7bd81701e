"""any hot kernel: memory that is filled or copied byte by byte is stored 16 bytes at a time.

On the device `memset` and `memcpy` of HIP's headers are loops over bytes. Where they fill an array of the thread that
is larger than a kibibyte, the compiler keeps such a loop, and makes another one of `= {0}`; for parts of 256 bytes it
writes out wide stores. Where `memcpy` has two pointers that may lead to the same place, each byte waits for the one
before it, which `__builtin_memcpy` need not, as its operands never overlap. Results stay the same bit for bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    arguments_of,
    called,
    child_of,
    declarations_in,
    names_in,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import NUMBER_TYPES, NumberType
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    helper_above,
    indentation,
    style_of,
)
from hipscope.formulas.propose.rules.shared.kept_arrays import is_promised
from hipscope.formulas.propose.splice import Splice

_INLINE = 1024  # bytes: up to here the compiler writes the stores out
# Of 256 bytes it writes them out, too. A loop that it unrolls whole becomes one fill again, of all bytes one by one.
_HELPER = """\
// `memset` in parts for which the compiler makes stores of 16 bytes.
static __device__ void NAME(void* to, int byte, size_t size) {
\tchar* const bytes = static_cast<char*>(to);
\tconst size_t parts = size / 256;
#pragma clang loop unroll(disable)
\tfor (size_t part = 0; part < parts; ++part) __builtin_memset(bytes + part * 256, byte, 256);
\t__builtin_memset(bytes + parts * 256, byte, size % 256);
}
"""
_ZEROS = re.compile(r"\{\s*(?:0(?:\.0*)?f?|\{\s*0?\s*\})?\s*\}")
_ELSEWHERE = re.compile(r"\b(?:__shared__|const|constexpr|static|extern|volatile|thread_local)\b")
_DEFINED = re.compile(rb"\bmem(?:set|cpy)\s*\([^;{}()]*\)\s*\{")


@dataclass(frozen=True)
class _Array:
    """`type name[a][b]` of a thread; `zeros` is what it begins with, `number` its elements' type where known."""

    name: str
    number: NumberType | None
    extents: tuple[str, ...]
    declaration: Node
    zeros: Node | None

    @property
    def large(self) -> bool:
        """Whether it may be too large for stores that the compiler writes out."""
        if self.number is None or not all(extent.isdigit() for extent in self.extents):
            return True
        return math.prod(map(int, self.extents)) * self.number.bytes > _INLINE


@dataclass(frozen=True)
class _Edit:
    """What is replaced for one statement; `fills`: by a call of the helper."""

    line: int
    splices: tuple[Splice, ...]
    fills: bool


@rewrite("wide_stores", "Memory", anywhere=True, function=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Fills and copies of large arrays are stored 16 bytes at a time.

    Needs: an array of more than 1 KiB, in a kernel with scratch memory; for copies, pointers that may lead to the
    same place; functions that the host does not run.
    For: HeCBench fsm.
    """
    if _DEFINED.search(source) is not None:
        return "the file has a `memset` or a `memcpy` of its own"
    helper, definition = _helper(source, kernel)
    edits = [*_fills(source, kernel, facts, helper), *_copies(kernel, facts)]
    if not edits:
        return "the kernel fills no large array of its own and copies nothing from pointer to pointer"
    splices = [splice for edit in edits for splice in edit.splices]
    if definition and any(edit.fills for edit in edits):
        splices.append(Splice(kernel.span.start, kernel.span.start, definition.encode()))
    lines = ", ".join(str(line) for line in sorted({edit.line for edit in edits}))
    return edited(
        source,
        splices,
        title=f"Store 16 bytes at a time instead of one (line {lines})",
        expected="One store for 16 bytes; results stay the same bit for bit.",
    )


def _helper(source: bytes, kernel: KernelSyntax) -> tuple[str, str]:
    """The name of the helper and the text that defines it; no text where it stands above the kernel already."""
    style, indent = style_of(source, kernel), indentation(source, kernel.span.start)

    def define(name: str) -> str:
        lines = _HELPER.replace("NAME", name).replace("\t", style.step).splitlines()
        marked = [line if line.startswith("#") else indent + line for line in lines]
        return style.newline.join([*marked, "", ""]).lstrip() + indent

    return helper_above(source, kernel, "fillBytes" if style.camel_case else "fill_bytes", define)


def _fills(source: bytes, kernel: KernelSyntax, facts: LaunchFacts, helper: str) -> Iterator[_Edit]:
    """`= {0}` and `memset` of large arrays of the thread, where the compiler has put something large in its memory."""
    for_the_host = "__host__" in kernel.attributes
    if for_the_host or (facts.needs is not None and facts.needs.scratch <= _INLINE):
        return
    arrays = {array.name: array for array in _arrays(source, kernel, facts) if array.large}
    for array in arrays.values():
        if array.zeros is not None and _is_zero(array, array.zeros):
            yield _filled_behind(source, array, array.zeros, helper)
    yield from _filled_by_calls(kernel, arrays, helper)


def _arrays(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Iterator[_Array]:
    """The thread's own arrays, each under a name that the kernel declares once."""
    declared = list(declarations_in(kernel.body_node))
    names = [name for name, _, _ in declared] + [p.name for p in kernel.parameters]
    for name, declarator, declaration in declared:
        initialized = declarator.type == "init_declarator"
        zeros = declarator.child_by_field_name("value") if initialized else None
        inner = child_of(declarator, "declarator") if initialized else declarator
        extents: list[str] = []
        while inner.type == "array_declarator":
            extents.insert(0, text_of(child_of(inner, "size")))
            inner = child_of(inner, "declarator")
        head = (declaration.text or b"")[: declarator.start_byte - declaration.start_byte].decode()
        block = declaration.parent
        listed = block is not None and block.type == "compound_statement"
        if inner.type != "identifier" or not extents or not listed or names.count(name) != 1:
            continue
        if _ELSEWHERE.search(head) is None:
            number = _number(name, declaration, source, kernel, facts)
            yield _Array(name, number, tuple(extents), declaration, zeros)


def _number(
    name: str, declaration: Node, source: bytes, kernel: KernelSyntax, facts: LaunchFacts
) -> NumberType | None:
    """The type of the elements where they are numbers, also behind an alias that the compiler sees through."""
    written = squeeze(text_of(child_of(declaration, "type")))
    seen = (facts.types.of(source, n) for n in walk(kernel.body_node) if text_of(n) == name)
    plain = next((re.sub(r"\s*(\[\d+\])+$", "", t) for t in seen if t is not None and t.endswith("]")), "")
    return NUMBER_TYPES.get(written) or NUMBER_TYPES.get(plain)


def _is_zero(array: _Array, value: Node) -> bool:
    """Whether an array of numbers begins with zeros that nothing else in its declaration asks for."""
    others = [
        other
        for _, declarator, _ in declarations_in(array.declaration)
        if (other := declarator.child_by_field_name("value")) is not None and other.id != value.id
    ]
    asked = any(array.name in names_in(other) for other in others)
    return array.number is not None and _ZEROS.fullmatch(text_of(value)) is not None and not asked


def _filled_behind(source: bytes, array: _Array, zeros: Node, helper: str) -> _Edit:
    """The declaration without `= {0}`, and a call right behind it."""
    declaration, declarator = array.declaration, zeros.parent
    start = child_of(declarator, "declarator").end_byte if declarator is not None else zeros.start_byte
    outer = ("\r\n" if b"\r\n" in source else "\n") + indentation(source, declaration.start_byte)
    call = f"{outer}{helper}({array.name}, 0, sizeof({array.name}));"
    end = declaration.end_byte
    splices = Splice(start, zeros.end_byte, b""), Splice(end, end, call.encode())
    return _Edit(declaration.start_point.row + 1, splices, fills=True)


def _filled_by_calls(kernel: KernelSyntax, arrays: Mapping[str, _Array], helper: str) -> Iterator[_Edit]:
    for call in _calls(kernel, "memset"):
        arguments, statement = arguments_of(call), call.parent
        if statement is None or statement.type != "expression_statement" or len(arguments) != 3:
            continue
        if _root(arguments[0]) in arrays:
            yield _renamed(call, helper, fills=True)


def _copies(kernel: KernelSyntax, facts: LaunchFacts) -> Iterator[_Edit]:
    """`memcpy` of which the compiler does not know that its operands are apart."""
    own = _own_memory(kernel)
    for call in _calls(kernel, "memcpy"):
        roots = [root for argument in arguments_of(call)[:2] if (root := _root(argument)) is not None]
        if len(roots) != 2 or own & {*roots} or all(is_promised(root, kernel, facts) for root in roots):
            continue
        yield _renamed(call, "__builtin_memcpy", fills=False)


def _calls(kernel: KernelSyntax, function: str) -> Iterator[Node]:
    spelled = (function, f"::{function}", f"std::{function}", f"::std::{function}")
    return (node for node in walk(kernel.body_node) if called(node) in spelled)


def _renamed(call: Node, name: str, *, fills: bool) -> _Edit:
    function = child_of(call, "function")
    splice = Splice(function.start_byte, function.end_byte, name.encode())
    return _Edit(call.start_point.row + 1, (splice,), fills)


def _own_memory(kernel: KernelSyntax) -> frozenset[str]:
    """What the kernel declares itself and is no pointer: the compiler knows that no argument leads there."""
    places = {
        name
        for name, declarator, declaration in declarations_in(kernel.body_node)
        if not any(n.type in ("pointer_declarator", "reference_declarator") for n in walk(declarator))
        and child_of(declaration, "type").type != "placeholder_type_specifier"
    }
    return frozenset(places | {array.name for array in kernel.shared})


def _root(node: Node) -> str | None:
    """`a` of `a`, `&a[i]`, `(char*)a + 4`, `a.b`; None of anything else."""
    steps: Sequence[str] = ("argument", "value", "left")
    while node.type != "identifier":
        inside = node.named_children if node.type == "parenthesized_expression" else []
        below = inside[0] if inside else next((b for s in steps if (b := node.child_by_field_name(s))), None)
        if below is None or node.type in ("call_expression", "conditional_expression"):
            return None
        node = below
    return text_of(node)
