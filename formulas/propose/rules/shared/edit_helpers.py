"""Editing helpers that the recipes share: the file's own indentation, line ends and naming; early returns.

Takes syntax nodes, gives texts and splices. Nothing here knows a bottleneck.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.source.nodes import (
    built_in,
    child_of,
    declarations_in,
    initialized,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.splice import Splice

WORKGROUP_NUMBERS = ("blockIdx.x", "hipBlockIdx_x")
MAX_THREADS = 1024  # of a workgroup, on every device that HIP runs on
MIN_WAVE = 32  # lanes of the narrowest wave: with MAX_THREADS it bounds the waves of a workgroup

THREAD_IN_BLOCK = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
THREADS_OF_BLOCK = "blockDim.x * blockDim.y * blockDim.z"


@dataclass(frozen=True)
class Style:
    """How the kernel is written: one indentation step, the indentation of its statements, its line end."""

    step: str
    base: str
    newline: str
    camel_case: bool
    taken: frozenset[str]

    def fresh(self, name: str) -> str:
        """`name` (given in snake_case) in the file's style, made different from every name the kernel sees."""
        head, *rest = name.split("_")
        styled = head + "".join(part.capitalize() for part in rest) if self.camel_case else name
        candidate, number = styled, 2
        while candidate in self.taken:
            candidate, number = f"{styled}{number}", number + 1
        return candidate

    def lines(self, texts: Iterable[str], depth: int = 0) -> str:
        """Whole lines at `depth` steps inside the kernel. A text may start with tabs: one more step for each."""
        out = ""
        for text in texts:
            inner = len(text) - len(text.lstrip("\t"))
            out += self.base + self.step * (depth + inner) + text.lstrip("\t") + self.newline
        return out


def fresh_name(name: str, style: Style, given: Iterable[str]) -> str:
    """As `style.fresh`, and different from the names that a recipe has given already."""
    styled, used = style.fresh(name), set(given)
    candidate, number = styled, 2
    while candidate in used or candidate in style.taken:
        candidate, number = f"{styled}{number}", number + 1
    return candidate


def numbered_name(name: str, style: Style, given: Iterable[str]) -> str:
    """As `fresh_name`, with the number as a word of its own: `next_u1_2`."""
    used, number = set(given), 2
    candidate = style.fresh(name)
    while candidate in used or candidate in style.taken:
        candidate, number = style.fresh(f"{name}_{number}"), number + 1
    return candidate


def style_of(source: bytes, kernel: KernelSyntax) -> Style:
    """The style of the kernel's text."""
    first = next((c for c in kernel.body_node.named_children if c.type != "comment"), None)
    base = indentation(source, first.start_byte) if first is not None else "  "
    outer = indentation(source, kernel.span.start)
    step = base.removeprefix(outer) or "  "
    if first is not None and line_start(source, first.start_byte) <= kernel.body.start:
        base = outer + step  # the body begins on the line of the brace
    body = source[kernel.span.start : kernel.span.end]
    locals_ = [
        text_of(n)
        for d in walk(kernel.body_node)
        if d.type in ("declaration", "init_declarator")
        for n in d.children_by_field_name("declarator")
        if n.type == "identifier"
    ]
    names = [*locals_, *(p.name for p in kernel.parameters)]
    camel = any(re.search(r"[a-z][A-Z]", n) for n in names) and not any("_" in n for n in names)
    return Style(
        step=step,
        base=base,
        newline="\r\n" if b"\r\n" in body else "\n",
        camel_case=camel,
        taken=names_in(kernel.body_node)
        | {p.name for p in kernel.parameters}
        | {m.decode() for m in re.findall(rb"#\s*define\s+(\w+)", source)},
    )


def indentation(source: bytes, position: int) -> str:
    """The blanks at the start of the line that holds the byte `position`."""
    line = source[line_start(source, position) :]
    return line[: len(line) - len(line.lstrip(b" \t"))].decode()


def line_start(source: bytes, position: int) -> int:
    """Where the line that holds the byte `position` begins."""
    return source.rfind(b"\n", 0, position) + 1


def before_directives(source: bytes, position: int) -> int:
    """Where a statement can be put before the one on the line of the byte `position`.

    That is the line's start, or above the directives that belong to it: pragmas, also those in a whole `#if ... #endif`
    that holds nothing else.
    """
    place = start = line_start(source, position)
    depth = 0
    while start:
        above = line_start(source, start - 1)
        directive = re.match(rb"[ \t]*#[ \t]*(\w+)", source[above:start])
        if directive is None:
            break
        kind, start = directive[1], above
        if kind == b"endif":
            depth += 1
        elif kind in (b"if", b"ifdef", b"ifndef"):
            depth -= 1
        elif kind not in (b"pragma", b"else", b"elif"):
            break
        if depth < 0:
            break  # the statement stands in this condition
        if depth == 0 and kind not in (b"else", b"elif"):
            place = start
    return place


def in_place_of(source: bytes, statement: Node, lines: Sequence[str], style: Style) -> Splice:
    """A statement replaced by several, in braces where one statement has to stand: `else` keeps its `if`."""
    indent = indentation(source, statement.start_byte)
    alone = not source[line_start(source, statement.start_byte) : statement.start_byte].strip()
    listed = statement.parent is not None and statement.parent.type == "compound_statement"
    if listed and (alone or len(lines) == 1):
        text = f"{style.newline}{indent}".join(lines)
    else:
        inner = "".join(f"{indent}{style.step}{line}{style.newline}" for line in lines)
        text = f"{{{style.newline}{inner}{indent}}}"
    return Splice(statement.start_byte, statement.end_byte, text.encode())


def helper_above(
    source: bytes, kernel: KernelSyntax, stem: str, define: Callable[[str], str]
) -> tuple[str, str]:
    """A free name for a helper before the kernel and the text that defines it; no text where it stands above."""
    above, name, number = source[: kernel.span.start].decode("utf-8", "replace"), stem, 2
    while (text := define(name)) not in above:
        if re.search(rb"\b%s" % name.encode(), source) is None:
            return name, text
        name, number = f"{stem}{number}", number + 1
    return name, ""


def renamed(node: Node, names: Mapping[str, str], replaced: Mapping[int, str] | None = None) -> str:
    """The node's text with identifiers and fields such as `threadIdx.x` renamed, and nodes (by id) replaced."""
    replaced = replaced or {}
    pieces: list[bytes] = []
    position = node.start_byte
    whole = node.text or b""

    def visit(current: Node) -> None:
        nonlocal position
        text: str | None = replaced.get(current.id)
        if text is None and current.type in ("identifier", "field_expression"):
            text = names.get(text_of(current))
        if text is None:
            for child in current.children:
                visit(child)
            return
        pieces.append(whole[position - node.start_byte : current.start_byte - node.start_byte])
        pieces.append(text.encode())
        position = current.end_byte

    visit(node)
    pieces.append(whole[position - node.start_byte :])
    return b"".join(pieces).decode("utf-8", "replace")


@dataclass(frozen=True)
class EarlyReturn:
    """A top-level `if (condition) return;` of a kernel."""

    statement: Node
    condition: Node


def early_returns(kernel: KernelSyntax) -> list[EarlyReturn] | str:
    """The kernel's early returns in order, or why there is one that cannot be turned into a guard."""
    found: list[EarlyReturn] = []
    known: set[int] = set()
    for statement in kernel.body_node.named_children:
        if statement.type == "if_statement" and statement.child_by_field_name("alternative") is None:
            consequence = statement.child_by_field_name("consequence")
            condition = statement.child_by_field_name("condition")
            value = condition.child_by_field_name("value") if condition is not None else None
            inner = only_statement(consequence) if consequence is not None else None
            if inner is not None and inner.type == "return_statement" and value is not None:
                found.append(EarlyReturn(statement, value))
                known.add(inner.id)
    for node in walk(kernel.body_node):
        if node.type == "return_statement" and node.id not in known:
            return f"the `return` on line {node.start_point.row + 1} is not a simple guard at the top of the kernel"
        if node.type in ("goto_statement", "labeled_statement"):
            return f"line {node.start_point.row + 1} uses goto"
    return found


def only_statement(node: Node) -> Node:
    """The statement itself, or the single one inside its braces."""
    if node.type == "compound_statement":
        inner = [c for c in node.named_children if c.type != "comment"]
        if len(inner) == 1:
            return inner[0]
    return node


def negated(condition: Node, kernel: KernelSyntax, names: Mapping[str, str] | None = None) -> str:
    """`!(condition)`, or the opposite comparison where the operands are plain integers; names are exchanged."""
    names = names or {}
    if condition.type == "binary_expression":
        joined = condition.child_by_field_name("operator")
        sides = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        if joined is not None and text_of(joined) == "||" and sides[0] is not None and sides[1] is not None:
            parts = [negated(side, kernel, names) for side in sides if side is not None]
            return " && ".join(parts)
    operator = condition.child_by_field_name("operator") if condition.type == "binary_expression" else None
    opposite = _OPPOSITE.get(text_of(operator)) if operator is not None else None
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    if opposite and left is not None and right is not None and _are_integers((left, right), kernel):
        return f"{renamed(left, names)} {opposite} {renamed(right, names)}"
    return f"!({renamed(condition, names)})"


def declared_type(name: str, kernel: KernelSyntax) -> str | None:
    """The type a name is declared with inside the kernel, qualifiers dropped; None when it is not (or `auto`)."""
    parameter = kernel.parameter(name)
    if parameter is not None:
        return parameter.element_type
    for declaration in walk(kernel.body_node):
        if declaration.type != "declaration":
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            inner = (
                declarator.child_by_field_name("declarator")
                if declarator.type != "identifier"
                else declarator
            )
            if inner is not None and inner.type == "identifier" and text_of(inner) == name:
                kind = declaration.child_by_field_name("type")
                return " ".join(text_of(kind).split()) if kind is not None else None
    return None


def is_own(node: Node, kernel: KernelSyntax) -> bool:
    """Whether this is a variable that only this thread can change, so that it may be read twice."""
    name = text_of(node)
    if node.type != "identifier" or declared_type(name, kernel) is None:
        return False
    parameter = kernel.parameter(name)
    if parameter is not None:
        return not parameter.pointer and not re.search(r"&|\bvolatile\b", parameter.type)
    for listed, declarator, declaration in declarations_in(kernel.body_node):
        value = declarator.child_by_field_name("value")
        end = value.start_byte if value is not None else declarator.end_byte
        head = (declaration.text or b"")[: end - declaration.start_byte].decode("utf-8", "replace")
        if listed == name and re.search(r"\b(__shared__|volatile)\b|&", head):
            return False
    return True


def at_start(source: bytes, kernel: KernelSyntax, style: Style, text: str) -> Splice:
    """Whole lines of text as the first ones of the kernel's body."""
    newline = source.find(b"\n", kernel.body.start)
    rest = source[kernel.body.start + 1 : newline].strip() if 0 <= newline < kernel.body.end else b"code"
    if not rest or rest.startswith(b"//"):
        return Splice(newline + 1, newline + 1, text.encode())
    at = kernel.body.start + 1
    return Splice(at, at, (style.newline + text + style.base.rstrip(" ")).encode())


def at_end(source: bytes, kernel: KernelSyntax, style: Style, text: str) -> Splice:
    """Whole lines of text as the last ones of the kernel's body."""
    brace = kernel.body.end - 1
    start = line_start(source, brace)
    if not source[start:brace].strip():
        return Splice(start, start, text.encode())
    return Splice(brace, brace, (style.newline + text + indentation(source, kernel.span.start)).encode())


def guard_splices(kernel: KernelSyntax, returns: list[EarlyReturn]) -> list[Splice]:
    """Turn each early return into an `if` around the rest, whose brace `closing_braces` closes."""
    splices = []
    for early in returns:
        opening = f"if ({negated(early.condition, kernel)}) {{"
        splices.append(Splice(early.statement.start_byte, early.statement.end_byte, opening.encode()))
    return splices


def closing_braces(returns: list[EarlyReturn], style: Style) -> str:
    """The lines that close what `guard_splices` opened."""
    return "".join(style.lines(["}"], depth) for depth in reversed(range(len(returns))))


def indent_splices(
    source: bytes, kernel: KernelSyntax, returns: list[EarlyReturn], style: Style, others: list[Splice]
) -> list[Splice]:
    """One more indentation step for each line after each early return; lines inside other splices are left alone."""
    return indented(source, kernel, [early.statement.end_byte for early in returns], style, others)


def indented(
    source: bytes, kernel: KernelSyntax, begins: Iterable[int], style: Style, others: list[Splice]
) -> list[Splice]:
    """One more indentation step for each line after each of these bytes, up to the end of the kernel's body."""
    end = line_start(source, kernel.body.end - 1)
    steps: dict[int, int] = {}
    for begin in begins:
        position = source.find(b"\n", begin) + 1
        while 0 < position < end:
            steps[position] = steps.get(position, 0) + 1
            position = source.find(b"\n", position) + 1
    result = []
    for position, count in steps.items():
        line = source[position : source.find(b"\n", position)]
        inside = any(s.start < position < s.end for s in others)
        if not inside:
            step = step_before(line.decode("utf-8", "surrogateescape"), style)
            result.append(Splice(position, position, (step * count).encode()))
    return result


def step_before(line: str, style: Style) -> str:
    """What moves a line one step further in: a tab before tabs. Nothing before directives that begin their line."""
    if not line.strip() or line.startswith("#"):
        return ""
    return "\t" if line.startswith("\t") else style.step


def with_steps(line: str, step: str) -> str:
    """The line with the tabs that it begins with as steps of the file's indentation."""
    text = line.lstrip("\t")
    return step * (len(line) - len(text)) + text


def is_pure(expression: Node, kernel: KernelSyntax | None = None) -> bool:
    """True when evaluating the expression twice is the same as once: no assignment, no call but casts and min/max.

    With a kernel also calls that were seen through and read no memory.
    """
    meanings = kernel.through.meanings if kernel is not None else {}
    for node in walk(expression):
        if node.type in (
            "assignment_expression",
            "update_expression",
            "gnu_asm_expression",
            "lambda_expression",
        ):
            return False
        meaning = meanings.get(node.id)
        if meaning is not None and is_pure(meaning) and "[" not in text_of(meaning) + text_of(node):
            continue
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            name = text_of(function) if function is not None else ""
            if not re.match(
                r"(static_cast\s*<|(min|max|abs|fabsf?|int|unsigned|size_t|float|double)$)", name
            ):
                return False
    return True


_OPPOSITE = {">=": "<", "<=": ">", ">": "<=", "<": ">=", "==": "!=", "!=": "=="}
INTEGER_TYPES = integers(32)


def _are_integers(operands: Iterable[Node], kernel: KernelSyntax) -> bool:
    for operand in operands:
        if built_in(text_of(operand)) is not None:
            continue
        if operand.type == "number_literal" and text_of(operand).isdigit():
            continue
        if operand.type == "identifier" and declared_type(text_of(operand), kernel) in INTEGER_TYPES:
            parameter = kernel.parameter(text_of(operand))
            if parameter is None or not parameter.pointer:
                continue
        return False
    return True


def ways_out(node: Node) -> list[Node]:
    """The `return`s of the kernel itself, not those of its lambdas."""
    if node.type == "return_statement":
        return [node]
    inside = () if node.type == "lambda_expression" else node.named_children
    return [way for child in inside for way in ways_out(child)]


def stands_for(text: str, values: tuple[str, ...], kernel: KernelSyntax) -> bool:
    """Whether it is one of the values, or a variable that is one and never changes."""
    if text in values:
        return True
    declared = initialized(text, kernel.body_node)
    return (
        len(declared) == 1
        and text not in changed_once_declared(kernel)
        and text_of(child_of(declared[0], "value")) in values
    )


def used_otherwise(base: str, known: Iterable[Node], kernel: KernelSyntax) -> Node | None:
    """Where a pointer (`out`, `grid.data`) is used beside the `known` expressions, or may be; None when nowhere."""
    ids = {n.id for node in known for n in walk(node)}
    for subscript in kernel.subscripts:
        if subscript.base == base and subscript.node.id not in ids:
            return subscript.node
    root = base.partition(".")[0]
    for node in walk(kernel.body_node):
        if node.type != "identifier" or text_of(node) != root or node.id in ids:
            continue
        outer = node
        while outer.parent is not None and outer.parent.type == "field_expression" and base != text_of(outer):
            outer = outer.parent
        path = text_of(outer)
        unseen = any(o.span.start <= node.start_byte < o.span.end for o in kernel.through.opaque)
        if unseen or f"{base}.".startswith(f"{path}."):
            return node
    return None


def only_the_first_workgroups(working: str, number: int) -> list[str]:
    """The lines behind which the first workgroups are alone; `working` is a name for how many these are."""
    return [
        f"// The first workgroups do the work of up to {number}; the others have none.",
        f"const unsigned {working} = (gridDim.x + {number - 1}) / {number};",
        f"if (blockIdx.x >= {working}) return;",
    ]
