"""any hot kernel: an array that every thread fills with constants, and then only reads, becomes a constant.

`int days[12]; days[0] = 31; ...` is stored to the thread's own memory before each use, as the index is known at run
time only. As `constexpr` it stands in the program once. What fills it stands right behind it, so that nothing has read
an element before; that its values are constants and that nothing writes to it later is asked of the compiler, by that
word. Loops and calls that fill it with integers are worked out. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.nodes import ancestors, child_of, names_in, sets, squeeze, text_of, walk
from hipscope.analysis.source.number_types import NUMBER_TYPES
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.constant_filling import Filling, NotConstant, element_of, holds
from hipscope.formulas.propose.rules.shared.edit_helpers import Style, indentation, line_start, style_of
from hipscope.formulas.propose.splice import Splice

_MOST = 256  # elements that a reader still takes for a table
_WIDTH = 100  # columns of its lines
_CONSTANT = frozenset(
    {
        "number_literal", "char_literal", "true", "false", "identifier", "unary_expression", "binary_expression",
        "parenthesized_expression", "cast_expression", "type_descriptor", "primitive_type",
    }
)  # fmt: skip


_Filled = tuple[tuple[Node, ...], dict[tuple[int, ...], str]]
"""The statements that fill an array, and the values by their indices."""


@dataclass(frozen=True)
class _Table:
    """An array without its values: `rank` is the number of its indices, `fills` the statements that fill it."""

    declaration: Node
    name: str
    type: str
    rank: int
    fills: tuple[Node, ...]
    values: dict[tuple[int, ...], str]

    @property
    def statements(self) -> tuple[Node, ...]:
        """All that the table replaces."""
        return (self.declaration, *self.fills)


@rewrite("constant_table", "Arithmetic", anywhere=True, function=True, any_caller=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """An array that every thread fills with constants becomes `constexpr`.

    Needs: what fills it stands right behind the declaration, on every path; no other use than reading elements; at
    most 256 elements.
    For: HeCBench colorwheel.
    """
    arrays = [declaration for declaration in walk(kernel.body_node) if _array(declaration) is not None]
    if not arrays:
        return "the kernel has no array of its own"
    file = parse(source)
    own = changed_names(kernel.body_node) | {parameter.name for parameter in kernel.parameters}
    answers = [_table(declaration, kernel, file, own) for declaration in arrays]
    tables = [answer for answer in answers if isinstance(answer, _Table)]
    if not tables:
        reasons = [answer for answer in answers if isinstance(answer, str)]
        return "; ".join(reasons) or "the kernel fills no array of its own with constants"
    style = style_of(source, kernel)
    names = ", ".join(f"`{table.name}`" for table in tables)
    return edited(
        source,
        [s for table in tables for s in _splices(source, table, style)],
        title=f"Make {names} constant",
        expected="No thread stores the elements before it reads one; results stay the same bit for bit.",
    )


def _table(
    declaration: Node, kernel: KernelSyntax, file: FileSyntax, own: frozenset[str]
) -> _Table | str | None:
    """The array of this declaration, why it stays, or None for one that nothing fills; `own` names are the thread's."""
    array = _array(declaration)
    if array is None:
        return None
    name, kind, rank = array
    found = _stored(declaration, name, rank, own), _worked_out(declaration, name, kind, file)
    answers = [_checked(declaration, array, filled, kernel) for filled in found if filled[0]]
    return next((a for a in answers if isinstance(a, _Table)), next(iter(answers), None))


def _checked(
    declaration: Node, array: tuple[str, str, int], filled: _Filled, kernel: KernelSyntax
) -> _Table | str:
    (name, kind, rank), (fills, values) = array, filled
    if len(values) > _MOST:
        return f"`{name}` has more than {_MOST} elements"
    if not _in_order(list(values)) or any(len(indices) != rank for indices in values):
        return f"`{name}` is not filled from its first element on"
    numbers = [int(value) for value in values.values() if re.fullmatch(r"-?\d+", value)]
    if not all(holds(NUMBER_TYPES[kind].element, number) for number in numbers):
        return f"a value of `{name}` is changed by its type"
    table = _Table(declaration, name, kind, rank, fills, values)
    return _used_otherwise(table, kernel) or table


def _array(declaration: Node) -> tuple[str, str, int] | None:
    """Name, type and rank of `int a[3][4];`: one array of numbers of the thread's own, without anything else."""
    block = declaration.parent
    if declaration.type != "declaration" or block is None or block.type != "compound_statement":
        return None
    if len(declaration.named_children) != 2 or declaration.named_children[1].type != "array_declarator":
        return None
    kind, inner, rank = squeeze(text_of(declaration.named_children[0])), declaration.named_children[1], 0
    while inner.type == "array_declarator":
        inner, rank = child_of(inner, "declarator"), rank + 1
    number = NUMBER_TYPES.get(kind)
    plain = number is not None and number.count == 1 and number.element.name not in ("fp16", "bf16")
    return (text_of(inner), kind, rank) if inner.type == "identifier" and plain else None


def _behind(declaration: Node, name: str) -> Iterator[Node]:
    """The statements of the block from the first one on that mentions the array."""
    started = False
    for statement in _after(declaration):
        started = started or name in names_in(statement)
        if started and statement.type != "comment":
            yield statement


def _stored(declaration: Node, name: str, rank: int, own: Set[str]) -> _Filled:
    """The statements that store one constant each, with these as they are written; `own` names are the thread's."""
    fills: list[Node] = []
    values: dict[tuple[int, ...], str] = {}
    for statement in _behind(declaration, name):
        if text_of(statement) == ";":
            continue
        assignment = next(iter(statement.named_children), statement)
        if statement.type != "expression_statement" or not sets(assignment):
            break
        place, value = element_of(child_of(assignment, "left")), child_of(assignment, "right")
        if place is None or place[0] != name or len(place[1]) != rank or not _is_constant(value, own):
            break
        texts = [text_of(index) for index in place[1]]
        if not all(text.isdecimal() for text in texts) or (indices := tuple(map(int, texts))) in values:
            break
        fills.append(statement)
        values[indices] = squeeze(text_of(value))
    return tuple(fills), values


def _is_constant(value: Node, own: Set[str]) -> bool:
    """Whether a value may be one: made of literals and of names that are not the thread's; the compiler knows them."""
    known = all(n.type in _CONSTANT for n in walk(value) if n.is_named)
    return known and not any(name in own or name.startswith("__") for name in names_in(value))


def _worked_out(declaration: Node, name: str, kind: str, file: FileSyntax) -> _Filled:
    """The statements that fill the array in loops and by calls, with what they store; none where that is not known."""
    filling, run = Filling(file, NUMBER_TYPES[kind].element, {name: {}}), list[Node]()
    fills: tuple[Node, ...] = ()
    values: dict[tuple[int, ...], str] = {}
    for statement in _after(declaration):
        try:
            filling.run(statement)
        except NotConstant:
            break
        run.append(statement)
        if name in names_in(statement):
            fills = tuple(n for n in run if n.type != "comment")
            values = {indices: str(value) for indices, value in filling.arrays[name].items()}
    own = frozenset[str]().union(*(names_in(fill) for fill in fills)) & filling.names
    if fills and any(own & names_in(after) for after in _after(fills[-1])):
        return (), {}
    return fills, values


def _after(statement: Node) -> Iterator[Node]:
    following = statement.next_named_sibling
    while following is not None:
        yield following
        following = following.next_named_sibling


def _in_order(indices: Sequence[tuple[int, ...]]) -> bool:
    """Whether the elements are all of each row from its first one on, row by row."""
    if not indices or not indices[0]:
        return True
    rows = [(first, [rest for _, *rest in row]) for first, row in groupby(sorted(indices), lambda i: i[0])]
    within = [_in_order([tuple(rest) for rest in row]) for _, row in rows]
    return [first for first, _ in rows] == list(range(len(rows))) and all(within)


def _used_otherwise(table: _Table, kernel: KernelSyntax) -> str | None:
    """Why an array has to stay, None where the rest of the kernel only reads elements of it."""
    own = {statement.id for statement in table.statements}
    for node in walk(kernel.body_node):
        if node.type not in ("identifier", "preproc_arg") or table.name not in re.findall(
            r"\w+", text_of(node)
        ):
            continue
        if own & {outer.id for outer in ancestors(node, kernel.body_node)}:
            continue
        if not _is_read(node, table.rank, kernel):
            return f"an element of `{table.name}` is more than read on line {node.start_point.row + 1}"
    return None


def _is_read(name: Node, rank: int, kernel: KernelSyntax) -> bool:
    """Whether a name stands in `name[i][j]` that is read."""
    element = name
    for _ in range(rank):
        around = element.parent
        if (
            around is None
            or around.type != "subscript_expression"
            or child_of(around, "argument").id != element.id
        ):
            return False
        element = around
    if any(outer.type == "gnu_asm_expression" for outer in ancestors(element, kernel.body_node)):
        return False
    around = element.parent
    if around is None or around.type in ("subscript_expression", "update_expression", "pointer_expression"):
        return False
    return around.type != "assignment_expression" or child_of(around, "left").id != element.id


def _splices(source: bytes, table: _Table, style: Style) -> Iterator[Splice]:
    """The table in the place of the last statement that fills it; the others and the declaration go."""
    first, last = table.fills[0], table.fills[-1]
    commented = any(n.type == "comment" for n in _siblings(first, last))
    if commented and _line_for_line(source, table):
        yield from _line_by_line(source, table, style)
        return
    outer, comment = indentation(source, last.start_byte), _comment_behind(table.declaration)
    head, units = _head(table), _units(table.values)
    lines = [f"{head}{', '.join(units)}}};"]
    if len((outer + lines[0]).expandtabs()) > _WIDTH:
        lines = [head, *_wrapped(units, outer + style.step), f"{outer}}};"]
    if comment is not None:
        lines[0] += f"  {text_of(comment)}"
    yield _without(source, table.declaration)
    start = last.start_byte if commented else first.start_byte
    yield Splice(start, last.end_byte, style.newline.join(lines).encode())
    if commented:
        yield from (_without(source, fill) for fill in table.fills[:-1])


def _line_for_line(source: bytes, table: _Table) -> bool:
    """Whether each statement stores one value, in order, and no other statement stands on their lines."""
    first, last = table.fills[0], table.fills[-1]
    before = source[line_start(source, first.start_byte) : first.start_byte]
    among = [n for n in _siblings(first, last) if n.type != "comment" and text_of(n) != ";"]
    ordered = list(table.values) == sorted(table.values)
    return table.rank == 1 and len(table.values) == len(among) and ordered and not before.strip()


def _line_by_line(source: bytes, table: _Table, style: Style) -> Iterator[Splice]:
    """Each value on the line where it was stored, with the comments there."""
    first, last = table.fills[0], table.fills[-1]
    outer = indentation(source, first.start_byte)
    begin = line_start(source, first.start_byte)
    yield _without(source, table.declaration)
    yield Splice(begin, begin, f"{outer}{_head(table)}{style.newline}".encode())
    for start in sorted({line_start(source, n.start_byte) for n in _siblings(first, last)}):
        yield Splice(start, start, style.step.encode())
    for fill, value in zip(table.fills, table.values.values(), strict=True):
        yield Splice(fill.start_byte, fill.end_byte, f"{value},".encode())
    for empty in (n for n in _siblings(first, last) if text_of(n) == ";"):
        yield Splice(empty.start_byte, empty.end_byte, b"")
    end = source.find(b"\n", last.end_byte)
    end = end - len(style.newline) + 1 if end >= 0 else len(source)
    yield Splice(end, end, f"{style.newline}{outer}}};".encode())


def _head(table: _Table) -> str:
    return f"constexpr {squeeze(text_of(table.declaration)).removesuffix(';')} = {{"


def _siblings(first: Node, last: Node) -> Iterator[Node]:
    """The statements and comments from the first to the last one, and the comment behind that."""
    node: Node | None = first
    while node is not None and node.start_point.row <= last.end_point.row:
        yield node
        node = node.next_named_sibling


def _units(values: Mapping[tuple[int, ...], str]) -> list[str]:
    """The values in their order, those of one row of a table in braces."""
    rows = groupby(sorted(values), lambda indices: indices[0])
    found = []
    for _, row in rows:
        inner = {indices[1:]: values[indices] for indices in row}
        found.append(inner[()] if () in inner else f"{{{', '.join(_units(inner))}}}")
    return found


def _wrapped(units: Sequence[str], indent: str) -> Iterator[str]:
    line = indent + units[0]
    for unit in units[1:]:
        if len(line.expandtabs()) + len(unit) + 3 > _WIDTH:
            yield f"{line},"
            line = indent + unit
        else:
            line += f", {unit}"
    yield line


def _comment_behind(statement: Node) -> Node | None:
    behind = statement.next_sibling
    same = behind is not None and behind.start_point.row == statement.end_point.row
    return behind if behind is not None and same and behind.type == "comment" else None


def _without(source: bytes, statement: Node) -> Splice:
    """A statement and the comment behind it taken out, with their line where nothing else stands there."""
    last = _comment_behind(statement) or statement
    start, end = line_start(source, statement.start_byte), source.find(b"\n", last.end_byte) + 1
    if source[start : statement.start_byte].strip() or source[last.end_byte : end].strip():
        return Splice(statement.start_byte, statement.end_byte, b"")
    above, below = line_start(source, start - 1), source.find(b"\n", end) + 1
    if source[above:start].strip() in (b"", b"{") and not source[end:below].strip():
        end = below  # one empty line is enough
    return Splice(start, end, b"")
