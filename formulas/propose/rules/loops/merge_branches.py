"""branchDivergence: both sides of a branch do the same work with other numbers, so a wave does it twice.

Chooses the numbers first and does the work once, with all lanes. Needs two sides that are the same text but for
constants and variables which the work itself leaves alone. Each lane then computes what it did before, on the same
values and in the same order. Sides whose operations differ are left alone: choosing between two results costs both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.nodes import (
    BARRIERS,
    called,
    child_of,
    condition_of,
    names_in,
    squeeze,
    statements_of,
    text_of,
    walk,
)
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.base import Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import Kind, is_plain, kind_of
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    declared_type,
    fresh_name,
    indentation,
    line_start,
    renamed,
    style_of,
)
from hipscope.formulas.propose.rules.shared.thread_renumbering import LANE_FUNCTIONS
from hipscope.formulas.propose.splice import Splice


@dataclass(frozen=True)
class _Differs(Exception):
    """Why two sides cannot be one."""

    reason: str


@dataclass(frozen=True)
class _Choice:
    """What stands in one place of the first and of the second side; both have the type."""

    first: Node
    second: Node
    type: str

    @property
    def texts(self) -> tuple[str, str]:
        return squeeze(text_of(self.first)), squeeze(text_of(self.second))


@rewrite("merge_branches", "Loops and branches", "branchDivergence", rank=56)
def propose(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None
) -> Answer:
    """Chooses the numbers first, then does once what both sides do.

    Needs: sides of the same text but for constants and variables that they leave alone.
    """
    file = parse(source)
    style = style_of(source, kernel)
    found: list[tuple[bool, Candidate]] = []
    reasons: list[str] = []
    for node in walk(kernel.body_node):
        if node.type != "if_statement" or node.child_by_field_name("alternative") is None:
            continue
        line = node.start_point.row + 1
        try:
            candidate = _merged(source, node, kernel, file, style)
        except _Differs as differs:
            reasons.append(f"the branch on line {line}: {differs.reason}")
            continue
        here = finding is not None and line <= finding.line <= node.end_point.row + 1
        found.append((here, candidate))
    if not found:
        return "; ".join(reasons) if reasons else "the kernel has no `if` with an `else`"
    return [candidate for _, candidate in sorted(found, key=lambda entry: not entry[0])]


def _merged(source: bytes, branch: Node, kernel: KernelSyntax, file: FileSyntax, style: Style) -> Candidate:
    """The text with this branch merged. Raises _Differs."""
    condition = condition_of(branch)
    start = line_start(source, branch.start_byte)
    if (
        branch.parent is None
        or branch.parent.type != "compound_statement"
        or source[start : branch.start_byte].strip()
    ):
        raise _Differs("it does not stand on a line of its own")
    if condition is None:
        raise _Differs("its condition declares something")
    if any(c.type == "constexpr" for c in branch.children):
        raise _Differs("it is decided when the kernel is compiled")
    first, other = child_of(branch, "consequence"), child_of(branch, "alternative")
    second = next((c for c in other.named_children if c.type != "comment"), other)
    for node in (*walk(first), *walk(second)):
        name = called(node) or ""
        if name in BARRIERS or name.startswith(LANE_FUNCTIONS) or node.type == "gnu_asm_expression":
            raise _Differs(f"line {node.start_point.row + 1} depends on which lanes go there together")
        if node.type in ("goto_statement", "labeled_statement", "lambda_expression"):
            raise _Differs(f"line {node.start_point.row + 1} is no plain statement")
    steady = changed_names(first) | changed_names(second)
    choices = list(_choices(statements_of(first), statements_of(second), steady, kernel, file))
    indent = indentation(source, start)
    chosen: dict[tuple[str, str], str] = {}
    lines = []
    pairs = {choice.texts: choice for choice in choices}
    which = text_of(condition)
    if len(pairs) > 1:
        which = fresh_name("first_way", style, ())
        lines.append(f"const bool {which} = {text_of(condition)};")
    elif condition.type not in ("identifier", "parenthesized_expression", "call_expression"):
        which = f"({which})" if condition.type in _LOOSER else which
    for texts, choice in pairs.items():
        chosen[texts] = fresh_name(_word(*texts), style, (*chosen.values(), which))
        lines.append(f"const {choice.type} {chosen[texts]} = {which} ? {texts[0]} : {texts[1]};")
    if not pairs and not is_plain(condition) and names_in(condition) and _has_effect(condition):
        raise _Differs("its condition does something itself")
    replaced = {choice.first.id: chosen[choice.texts] for choice in choices}
    body = _body(source, first, replaced, style, indent)
    text = "".join(f"{indent}{line}{style.newline}" for line in lines) + body
    line_end = source.find(b"\n", branch.end_byte)
    rest = source[branch.end_byte : line_end]
    end = branch.end_byte if rest.strip() else line_end + 1
    replacement = text.rstrip("\r\n") if rest.strip() else text
    return edited(
        source,
        [Splice(start, end, replacement.encode())],
        title=f"Choose the numbers first, then do the work of the branch on line {branch.start_point.row + 1} once",
        expected=(
            "A wave does the work once with all of its lanes, instead of once for each side with some of them; "
            "results stay the same bit for bit."
        ),
    )


def _choices(
    first: list[Node], second: list[Node], changed: frozenset[str], kernel: KernelSyntax, file: FileSyntax
) -> Iterator[_Choice]:
    """Where two sides differ. Raises _Differs where that is in more than a number."""
    if len(first) != len(second):
        raise _Differs("its sides have different numbers of statements")
    for one, two in zip(first, second, strict=True):
        yield from _compared(one, two, changed, kernel, file)


def _compared(
    one: Node, two: Node, changed: frozenset[str], kernel: KernelSyntax, file: FileSyntax
) -> Iterator[_Choice]:
    if squeeze(text_of(one)) == squeeze(text_of(two)):
        return
    inner = [[c for c in n.children if c.type != "comment"] for n in (one, two)]
    same = one.type == two.type and len(inner[0]) == len(inner[1]) > 0
    if same and all(a.type == b.type or _is_value(a) for a, b in zip(*inner, strict=True)):
        found: list[_Choice] = []
        try:
            for a, b in zip(*inner, strict=True):
                found += _compared(a, b, changed, kernel, file)
        except _Differs as inside:
            try:
                found = [_choice(one, two, changed, kernel, file)]
            except _Differs:
                raise inside from None
            yield from found
            return
        else:
            yield from found
            return
    yield _choice(one, two, changed, kernel, file)


_LOOSER = (
    "assignment_expression",
    "conditional_expression",
    "comma_expression",
)  # than `?:` binds its condition
_VALUES = ("identifier", "number_literal", "binary_expression", "unary_expression", "parenthesized_expression",
           "field_expression")  # fmt: skip


def _is_value(node: Node) -> bool:
    return node.type in _VALUES


def _choice(one: Node, two: Node, changed: frozenset[str], kernel: KernelSyntax, file: FileSyntax) -> _Choice:
    line = one.start_point.row + 1
    texts = f"`{squeeze(text_of(one))}` on line {line} and `{squeeze(text_of(two))}` on line {two.start_point.row + 1}"
    if not (_is_value(one) and _is_value(two) and is_plain(one) and is_plain(two)) or not _is_read(one):
        raise _Differs(f"{texts} are not the same work")
    if (names_in(one) | names_in(two)) & changed:
        raise _Differs(f"{texts} change on the way")
    kinds = {kind_of(n, kernel, file) for n in (one, two)}
    types = {_written_type(n, kernel, file, kind_of(n, kernel, file)) for n in (one, two)}
    known = next(iter(types))
    if len(kinds) != 1 or len(types) != 1 or known is None:
        raise _Differs(f"{texts} are not known to have the same type")
    return _Choice(one, two, known)


def _written_type(node: Node, kernel: KernelSyntax, file: FileSyntax, kind: Kind | None) -> str | None:
    """`float`, or the one integer type of what the expression is made of."""
    if kind != "integer":
        return kind
    if node.type == "number_literal":
        return {"": "int", "u": "unsigned"}.get(text_of(node).lower().lstrip("0123456789"))
    if node.type == "unary_expression" or node.type == "parenthesized_expression":
        inner = node.child_by_field_name("argument") or node.named_children[0]
        return _written_type(inner, kernel, file, kind)
    if node.type != "identifier":
        return None
    if (declared := declared_type(text_of(node), kernel)) is not None:
        return declared
    value = file.constants.get(text_of(node))
    if value is None or value.type != "number_literal":
        return None
    return _written_type(value, kernel, file, kind)


_NO_READS = (
    "update_expression", "pointer_expression", "declaration", "field_expression", "array_declarator",
    "template_argument_list", "case_statement",
)  # fmt: skip


def _is_read(node: Node) -> bool:
    """The place takes a value: no target of an assignment, no name that is declared, called or indexed."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("assignment_expression", "init_declarator"):
        return (parent.child_by_field_name("right") or parent.child_by_field_name("value")) == node
    if parent.type in _NO_READS:
        return False
    taken = parent.child_by_field_name("function") or (
        parent.child_by_field_name("argument") if parent.type == "subscript_expression" else None
    )
    return taken is None or taken.id != node.id


def _has_effect(condition: Node) -> bool:
    return any(
        n.type in ("assignment_expression", "update_expression", "call_expression") for n in walk(condition)
    )


def _word(first: str, second: str) -> str:
    """A name for the choice: the words that both names end in (`kSteelLoss`, `kCopperLoss`: `loss`), else `chosen`."""
    named = all(re.fullmatch(r"[A-Za-z_]\w*", text) for text in (first, second))
    words = [re.findall(r"[A-Z]?[a-z]+", text)[::-1] for text in (first, second)] if named else [[], []]
    shared: list[str] = []
    for one, two in zip(*words, strict=False):
        if one.lower() != two.lower():
            break
        shared.insert(0, one.lower())
    return "_".join(shared) or "chosen"


def _body(source: bytes, side: Node, replaced: dict[int, str], style: Style, indent: str) -> str:
    """The statements of the first side, one step further out; braces stay around declarations."""
    text = renamed(side, {}, replaced)
    if side.type != "compound_statement":
        return f"{indent}{text}{style.newline}"
    if any(n.type in ("declaration", "type_definition", "using_declaration") for n in side.named_children):
        return f"{indent}{text}{style.newline}"
    lines = text[1:-1].strip("\r\n \t").split("\n")
    first = next((n for n in side.named_children if n.type != "comment"), None)
    inner = indentation(source, first.start_byte) if first is not None else indent
    out = []
    for line in lines:
        bare = line.rstrip("\r")
        if bare.startswith(inner):
            bare = indent + bare.removeprefix(inner)
        elif not bare.startswith("#") and bare.strip():
            bare = indent + bare.lstrip()
        out.append(bare)
    return style.newline.join(out) + style.newline
