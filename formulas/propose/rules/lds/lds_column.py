"""An array of each thread that is indexed by data becomes a column of LDS for each thread of the workgroup.

Registers have no index that is known at run time only: the compiler keeps such an array in scratch memory, or goes
through all its elements at each access. LDS has one. No thread reads another's column, so no barrier is needed, and
results stay the same bit for bit. An index beyond the array changes nothing, as it did in the array.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.loops import head_values, stepped_names
from hipscope.analysis.source.nodes import ancestors, child_of, names_in, takes_address, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.lane_model import constant_number
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.loops import launch_bounds
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    THREAD_IN_BLOCK,
    Style,
    at_start,
    fresh_name,
    indentation,
    is_pure,
    line_start,
    style_of,
)
from hipscope.formulas.propose.splice import Splice

_ZEROS = re.compile(r"\{\s*(0(\.0*)?f?)?\s*\}")
_MOST = 64  # elements: more of them leave LDS for few workgroups


@dataclass(frozen=True)
class _Array:
    """`type name[size]` of a thread, with the subscripts that use it; `extent` is the size as it is written, `zeros`:
    it begins with zeros.
    """

    declaration: Node
    declarator: Node
    name: str
    type: str
    size: int
    extent: str
    zeros: bool
    uses: tuple[Node, ...]


@rewrite("lds_column", "LDS and reductions", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """An array of the thread that is indexed by data becomes a column of LDS.

    Needs: a constant size, used by its elements only; workgroups of a constant size, as for `launch_bounds`.
    For: HeCBench entropy.
    """
    known = launch_bounds.promised(kernel, facts)
    if known is None:
        return "how large the workgroups are is not known"
    threads, said = known
    file = parse(source)
    found, reasons = _arrays(kernel, file)
    if not found:
        return "; ".join(reasons) or "no thread has an array of its own that is indexed by data"
    sizes = [facts.bytes_of(array.type) for array in found]
    if any(size is None for size in sizes):
        return f"the size of the elements of `{found[sizes.index(None)].name}` is not known"
    dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
    columns = sum(a.size * threads * (size or 0) for a, size in zip(found, sizes, strict=True))
    if (needed := facts.static_lds + dynamic + columns) > facts.lds_limit:
        return f"the columns need {needed} bytes of LDS; the device has {facts.lds_limit}"
    style = style_of(source, kernel)
    lane = fresh_name("thread_in_block", style, ())
    flat = all(launch.workgroup[1:] == (1, 1) for launch in facts.launches)
    where = "threadIdx.x" if flat and facts.launches else THREAD_IN_BLOCK
    splices = [at_start(source, kernel, style, style.lines([f"const unsigned {lane} = {where};"]))]
    declarations = {array.declaration.id: array.declaration for array in found}
    for declaration in declarations.values():
        columns_here = [array for array in found if array.declaration.id == declaration.id]
        splices.append(_declared(source, style, columns_here, threads, lane))
    for array in found:
        splices += _uses(array, lane)
    if not said:
        splices.append(launch_bounds.bounds_splice(kernel, str(threads)))
    names = ", ".join(f"`{a.name}`" for a in found)
    return edited(
        source,
        splices,
        title=f"Keep {names} in LDS, a column for each thread",
        expected=(
            f"An index that is data is one LDS access; LDS grows by {columns} bytes for each workgroup; "
            "results stay the same bit for bit."
        ),
        assumes=() if said else (launch_bounds.assumed(kernel, facts, str(threads)),),
    )


def _arrays(kernel: KernelSyntax, file: FileSyntax) -> tuple[list[_Array], list[str]]:
    """The arrays that can be columns, and why others that are indexed by data can't."""
    found: list[_Array] = []
    reasons: list[str] = []
    for declaration in walk(kernel.body_node):
        if declaration.type != "declaration":
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            array = _array(declaration, declarator, kernel, file)
            if isinstance(array, _Array):
                found.append(array)
            elif array is not None:
                reasons.append(array)
    return found, reasons


def _array(
    declaration: Node, declarator: Node, kernel: KernelSyntax, file: FileSyntax
) -> _Array | str | None:
    """The array, the precondition that does not hold for it, or None where nothing is indexed by data."""
    inner = [n for n in walk(declarator) if n.type == "array_declarator"]
    if len(inner) != 1 or child_of(inner[0], "declarator").type != "identifier":
        return None
    name = text_of(child_of(inner[0], "declarator"))
    if name in {shared.name for shared in kernel.shared}:
        return None
    mentions = [
        n
        for n in walk(kernel.body_node)
        if n.type == "identifier" and text_of(n) == name and n.parent != inner[0]
    ]
    uses = [n.parent for n in mentions if n.parent is not None and _is_element(n, n.parent)]
    if not any(_by_data(use, kernel) for use in uses):
        return None
    written = child_of(inner[0], "size")
    size = constant_number(written, file.constants)
    zeros = declarator.type == "init_declarator"
    whole, kind = declaration.parent, child_of(declaration, "type")
    if kind.id != declaration.children[0].id or whole is None or whole.type != "compound_statement":
        return f"`{name}` is declared with a qualifier, or in the head of a statement"
    if any(use.start_byte < declaration.end_byte for use in uses):
        return f"`{name}` is used in its own declaration"
    if size is None or size > _MOST:
        return f"`{name}` has no constant size of at most {_MOST} elements"
    if zeros and _ZEROS.fullmatch(text_of(child_of(declarator, "value"))) is None:
        return f"`{name}` begins with other values than zeros"
    if len(uses) != len(mentions):
        return f"`{name}` is also used other than by its elements"
    if any(outer.type == "lambda_expression" for outer in ancestors(declaration, kernel.body_node)):
        return f"`{name}` belongs to a lambda"
    for use in uses:
        if _by_data(use, kernel) and _stored(use) is None and _changes(use):
            return (
                f"`{text_of(use)}` on line {use.start_point.row + 1} is not stored by a statement of its own"
            )
    return _Array(declaration, declarator, name, text_of(kind), size, text_of(written), zeros, tuple(uses))


def _is_element(name: Node, parent: Node) -> bool:
    """`name[i]`, of which neither the address nor a reference is taken."""
    if parent.type != "subscript_expression" or child_of(parent, "argument") != name:
        return False
    outer = parent.parent
    if outer is None or outer.type in ("subscript_expression", "field_expression", "argument_list"):
        return outer is not None and outer.type == "argument_list" and outer.parent is not None
    if takes_address(outer):
        return False
    return not (
        outer.type == "init_declarator" and child_of(outer, "declarator").type == "reference_declarator"
    )


def _index(use: Node) -> Node:
    """What stands between the brackets."""
    indices = child_of(use, "indices")
    return indices.named_children[0] if indices.type == "subscript_argument_list" else child_of(use, "index")


def _by_data(use: Node, kernel: KernelSyntax) -> bool:
    """Whether an index is something else than a constant or a counter of the loops around it."""
    index = _index(use)
    if any(n.type in ("subscript_expression", "call_expression", "cast_expression") for n in walk(index)):
        return True
    counters: set[str] = set()
    for outer in ancestors(use, kernel.body_node):
        if outer.type == "for_statement":
            counters |= (head_values(outer) or {}).keys() | stepped_names(outer)
    return bool({name for name in names_in(index) if not name.isupper()} - counters)


def _changes(use: Node) -> bool:
    """Whether an element is stored to."""
    outer = use.parent
    if outer is None:
        return False
    if outer.type == "assignment_expression":
        return child_of(outer, "left") == use
    return outer.type == "update_expression"


def _stored(use: Node) -> Node | None:
    """The statement that does nothing but change this element, its index read without a side effect; else None."""
    outer = use.parent
    if (
        outer is None
        or not _changes(use)
        or outer.parent is None
        or outer.parent.type != "expression_statement"
    ):
        return None
    return outer.parent if is_pure(_index(use)) else None


def _declared(source: bytes, style: Style, arrays: list[_Array], threads: int, lane: str) -> Splice:
    """The columns in place of what one declaration declares, and what else it does behind them."""
    declaration = arrays[0].declaration
    lines = []
    for array in arrays:
        lines.append(f"__shared__ {array.type} {array.name}[{array.extent}][{threads}];")
        if array.zeros:
            row = style.fresh("row")
            zero = f"{array.name}[{row}][{lane}] = 0;"
            lines.append(f"for (int {row} = 0; {row} < {array.extent}; ++{row}) {zero}")
    moved = {array.declarator.id for array in arrays}
    kept = [d for d in declaration.children_by_field_name("declarator") if d.id not in moved]
    if kept:
        lines.append(f"{arrays[0].type} {', '.join(map(text_of, kept))};")
    between = style.newline + indentation(source, line_start(source, declaration.start_byte))
    return Splice(declaration.start_byte, declaration.end_byte, between.join(lines).encode())


def _uses(array: _Array, lane: str) -> list[Splice]:
    """Each use with its lane; a store at an index that is data asks whether it is in the array."""
    splices = []
    for use in array.uses:
        splices.append(Splice(use.end_byte, use.end_byte, f"[{lane}]".encode()))
        statement = _stored(use) if _dynamic(use, array) else None
        if statement is not None:
            within = f"{array.size}u" if array.extent.isdigit() else array.extent
            asked = f"if (static_cast<unsigned>({text_of(_index(use))}) < {within}) "
            splices.append(Splice(statement.start_byte, statement.start_byte, asked.encode()))
    return splices


def _dynamic(use: Node, array: _Array) -> bool:
    """Whether an index may lie beyond the array: a number within it may not."""
    text = text_of(_index(use))
    return not (text.isdigit() and int(text) < array.size) and _stored(use) is not None and not _counted(use)


def _counted(use: Node) -> bool:
    """Whether the index is the counter of a loop around it alone."""
    index, outer = _index(use), use.parent
    while outer is not None and outer.type != "function_definition":
        if outer.type == "for_statement" and text_of(index) in (head_values(outer) or {}):
            return True
        outer = outer.parent
    return False
