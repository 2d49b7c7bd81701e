"""memoryAccess: a transposition. One access is contiguous along x, the other along y; an LDS tile between them lets
both run contiguously.

One half of the work keeps its thread numbering, the other half is renumbered along y; the value crosses in LDS. Both
halves keep their own guard and the barrier stands outside of them. The tile has the shape of the captured workgroups,
which the kernel checks; for any other shape it does what it did before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tree_sitter import Node

from hipscope.analysis.kernel.effects import seen_through, variables_set
from hipscope.analysis.source.nodes import LOOPS, names_in, statements_of, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.analysis.source.thread_dependence import thread_dependent
from hipscope.formulas.facts.lane_model import lds_conflict_cycles
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    line_start,
    negated,
    only_statement,
    renamed,
    style_of,
)
from hipscope.formulas.propose.rules.shared.preconditions import first_refusal
from hipscope.formulas.propose.rules.shared.thread_renumbering import Access, Shape, read_shape, unseen
from hipscope.formulas.propose.splice import Splice, apply_splices

NAME = "tile_transpose"
_TITLE = "Go through a padded tile in LDS, so that loads and stores are both contiguous"


@dataclass(frozen=True)
class _Guard:
    """A condition of the work; `leaves` when the kernel returns where it holds."""

    condition: Node
    leaves: bool
    kernel: KernelSyntax

    def under(self, names: Mapping[str, str]) -> str:
        """The text of the condition for going on, in that thread numbering."""
        if self.leaves:
            return negated(self.condition, self.kernel, names)
        return renamed(self.condition, names)


@dataclass(frozen=True)
class _Plan:
    """`read` crosses through LDS. `store_side` selects the renumbered half: the store's or the load's."""

    read: Access
    store_side: bool
    guards: tuple[_Guard, ...]
    work: tuple[Node, ...]


@rewrite("tile_transpose", "Memory", "memoryAccess", rank=12)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """A transposition goes through an LDS tile, so that loads and stores both run along rows.

    Needs: one strided and one contiguous access; workgroups of one captured shape, which the kernel checks.
    """
    shape = read_shape(kernel, parse(source), facts)
    if isinstance(shape, str):
        return shape
    if (advice := unseen(NAME, _TITLE, kernel)) is not None:
        return advice
    plan = _plan(shape, kernel)
    if isinstance(plan, str):
        return plan
    bx, by, _ = shape.launch.workgroup
    size = facts.bytes_of(plan.read.element) or 4
    width = bx + _padding(bx, by, size, facts.device)
    if (needed := facts.static_lds + by * width * size) > facts.lds_limit:
        return f"the tile needs {needed} bytes of LDS; the device has {facts.lds_limit}"
    strided = [a for a in shape.accesses if a.gains]
    return edited(
        _rewrite(source, kernel, shape, plan, width),
        title=f"Transpose through an LDS tile of {by} x {bx}",
        expected=(
            f"A wave of `{text_of(strided[0].subscript.node)}` touches {strided[0].exchanged} cache lines "
            f"instead of {strided[0].lines}; results stay the same bit for bit."
        ),
    )


def _one_write(shape: Shape) -> str | None:
    writes = [a for a in shape.accesses if a.subscript.use != "read"]
    single = len(writes) == 1 and writes[0].subscript.use == "write"
    return None if single else "the kernel does not write exactly one element per thread"


def _gains_from_the_exchange(shape: Shape) -> str | None:
    gains = any(a.gains for a in shape.accesses)
    return None if gains else "no access would touch fewer cache lines with x and y of the threads exchanged"


def _one_crossing_read(shape: Shape) -> str | None:
    single = len(_crossing(shape)) == 1
    return None if single else "there is no single pair of one strided and one contiguous access"


def _no_loop(shape: Shape) -> str | None:
    loop = any(n.type in LOOPS for s in shape.region for n in walk(s))
    return "the accesses stand in a loop" if loop else None


def _crossing(shape: Shape) -> list[Access]:
    """The reads that run along the other axis than the only write."""
    write = next(a for a in shape.accesses if a.subscript.use != "read")
    return [a for a in shape.accesses if a.subscript.use == "read" and a.gains != write.gains]


_PRECONDITIONS = (_one_write, _gains_from_the_exchange, _one_crossing_read, _no_loop)


def _plan(shape: Shape, kernel: KernelSyntax) -> _Plan | str:
    if (why := first_refusal(shape, _PRECONDITIONS)) is not None:
        return why
    if (name := next(iter(sorted(variables_set(kernel.body_node, seen_through(kernel)))), None)) is not None:
        return f"`{name}` is changed after its declaration"
    guarded = _guarded_work(shape, kernel)
    if isinstance(guarded, str):
        return guarded
    guards, work = guarded
    write = next(a for a in shape.accesses if a.subscript.use != "read")
    read = _crossing(shape)[0]
    if (why := _movable(read.subscript, write.subscript, work, kernel)) is not None:
        return why
    return _Plan(read, write.gains, guards, work)


def _guarded_work(shape: Shape, kernel: KernelSyntax) -> tuple[tuple[_Guard, ...], tuple[Node, ...]] | str:
    """The conditions under which the kernel works, and the statements under all of them; or why they are not known."""
    guards = tuple(_Guard(r.condition, True, kernel) for r in shape.returns)
    work = shape.region
    while len(work) == 1 and work[0].type == "if_statement":
        if work[0].child_by_field_name("alternative") is not None:
            return "the work stands in an `if` with an `else`"
        condition, consequence = (
            work[0].child_by_field_name("condition"),
            work[0].child_by_field_name("consequence"),
        )
        value = condition.child_by_field_name("value") if condition is not None else None
        if value is None or consequence is None:
            return "the guard could not be read"
        guards += (_Guard(value, False, kernel),)
        work = tuple(statements_of(only_statement(consequence)))
    return (guards, work) if work else "there is no work in the kernel"


def _movable(read: Subscript, write: Subscript, work: tuple[Node, ...], kernel: KernelSyntax) -> str | None:
    """Why the element that is read cannot be read by another thread of the workgroup, ahead of the work."""
    if not (read.whole and write.whole):
        return f"`{text_of(read.node)}` is not one element"
    local = {n for s in work if s.type == "declaration" for n in _declared(s)}
    if names_in(read.node) & local:
        return f"the address of `{text_of(read.node)}` is worked out inside the guard"
    if not any(s.start_byte <= read.node.start_byte < s.end_byte for s in work):
        return "an element is read in a guard"
    for node in walk(kernel.body_node):
        conditional = node.type in ("if_statement", "conditional_expression", "switch_statement")
        inside = any(s.start_byte <= node.start_byte < s.end_byte for s in work)
        if conditional and inside and node.start_byte <= read.node.start_byte < node.end_byte:
            return f"`{text_of(read.node)}` is read only under a further condition"
    return None


def _declared(declaration: Node) -> list[str]:
    names = []
    for declarator in declaration.children_by_field_name("declarator"):
        inner = declarator
        while (deeper := inner.child_by_field_name("declarator")) is not None:
            inner = deeper
        names.append(text_of(inner))
    return names


def _padding(bx: int, by: int, size: int, device: str) -> int:
    """Elements to add to each tile row so that rows and columns meet the fewest bank conflicts."""
    lanes = np.arange(min(64, bx * by), dtype=np.int64)

    def conflicts(padding: int) -> int:
        width = bx + padding
        rows = lanes // bx * width + lanes % bx
        columns = lanes % by * width + lanes // by
        stored = lds_conflict_cycles(rows * size, size, write=True, device=device)
        return stored + lds_conflict_cycles(columns * size, size, write=False, device=device)

    return min(range(9), key=lambda padding: (conflicts(padding), padding))


def _rewrite(source: bytes, kernel: KernelSyntax, shape: Shape, plan: _Plan, width: int) -> bytes:
    style = style_of(source, kernel)
    bx, by, _ = shape.launch.workgroup
    tile, thread = style.fresh("tile"), style.fresh("thread_in_block")
    here = {"threadIdx.x": "threadIdx.x", "threadIdx.y": "threadIdx.y"}
    moved, there = _renumbered(kernel, shape, plan, style)
    load_names, store_names = (here, there) if plan.store_side else (there, here)

    def cell(names: Mapping[str, str]) -> str:
        return f"{tile}[{names['threadIdx.y']}][{names['threadIdx.x']}]"

    element = renamed(plan.read.subscript.node, load_names)
    load = _guarded(plan, load_names, [f"{cell(load_names)} = {element};"])
    through = {plan.read.subscript.node.id: cell(store_names)}
    store = _guarded(plan, store_names, [renamed(s, store_names, through) for s in plan.work])
    renumber = [
        f"const unsigned {thread} = threadIdx.x + {bx} * threadIdx.y;",
        f"const unsigned {there['threadIdx.x']} = {thread} / {by};",
        f"const unsigned {there['threadIdx.y']} = {thread} % {by};",
        *moved,
    ]
    barrier = ["__syncthreads();"]
    steps = [*load, *barrier, *renumber, *store] if plan.store_side else [*renumber, *load, *barrier, *store]
    text = style.lines(
        [
            "// Both sides of the transposition run along rows; the elements change places in LDS.",
            f"__shared__ {plan.read.element} {tile}[{by}][{width}];",
            f"if (blockDim.x == {bx} && blockDim.y == {by} && blockDim.z == 1) {{",
            *("\t" + s for s in steps),
        ]
    )
    text += style.base + "} else " + _original(source, shape, plan, style)
    first, last = shape.region[0], shape.region[-1]
    splices = [Splice(first.start_byte, last.end_byte, text.removeprefix(style.base).encode())]
    splices += [_whole_line(source, r.statement) for r in shape.returns]
    return apply_splices(source, splices)


def _renumbered(
    kernel: KernelSyntax, shape: Shape, plan: _Plan, style: Style
) -> tuple[list[str], dict[str, str]]:
    """Declarations that the renumbered half needs again, and the new names it uses."""
    prefix = "store" if plan.store_side else "load"
    names = {axis: style.fresh(f"{prefix}_thread_{axis[-1]}") for axis in ("threadIdx.x", "threadIdx.y")}
    read = plan.read.subscript.node
    # On the side of the store the element comes out of the tile, so its address is not needed there.
    half, crossing = (plan.work, read) if plan.store_side else ((read,), None)
    users: list[Node] = [*(g.condition for g in plan.guards), *half]
    needed: list[Node] = []
    for declaration in reversed(shape.declarations):
        declared = set(_declared(declaration))
        used = any(declared & _names_beside(user, crossing) for user in users)
        if used and thread_dependent(declaration, kernel.thread_dependent):
            needed.insert(0, declaration)
            users.append(declaration)
    for declaration in needed:
        names |= {name: style.fresh(f"{prefix}_{name}") for name in _declared(declaration)}
    names |= {f"hipThreadIdx_{axis}": names[f"threadIdx.{axis}"] for axis in "xy"}  # the older spelling
    return [renamed(declaration, names) for declaration in needed], names


def _names_beside(node: Node, left_out: Node | None) -> frozenset[str]:
    """The names in an expression or statement, except those in one part of it."""
    if left_out is not None and node.id == left_out.id:
        return frozenset()
    parts = (_names_beside(child, left_out) for child in node.named_children)
    return frozenset().union(*parts) if node.named_children else names_in(node)


def _guarded(plan: _Plan, names: Mapping[str, str], statements: list[str]) -> list[str]:
    """The statements under all guards of the kernel, as one `if`."""
    conditions = [guard.under(names) for guard in plan.guards]
    if not conditions:
        return statements
    joined = conditions[0] if len(conditions) == 1 else " && ".join(f"({c})" for c in conditions)
    return [f"if ({joined}) {{", *("\t" + s for s in statements), "}"]


def _original(source: bytes, shape: Shape, plan: _Plan, style: Style) -> str:
    """The kernel's own work, one step further in, under its early returns' guards."""
    first, last = shape.region[0], shape.region[-1]
    text = source[line_start(source, first.start_byte) : last.end_byte].decode("utf-8", "replace")
    lines = [style.step + line if line.strip() else line for line in text.splitlines(keepends=True)]
    early = [g.under({}) for g in plan.guards[: len(shape.returns)]]
    head = "if (" + " && ".join(f"({c})" if len(early) > 1 else c for c in early) + ") {" if early else "{"
    return head + style.newline + "".join(lines) + style.newline + style.base + "}"


def _whole_line(source: bytes, statement: Node) -> Splice:
    """Removes the statement, and its line when nothing else stands on it."""
    start, end = line_start(source, statement.start_byte), source.find(b"\n", statement.end_byte) + 1
    alone = (
        source[start : statement.start_byte].strip() == b""
        and source[statement.end_byte : end].strip() == b""
    )
    return Splice(start, end, b"") if alone and end else Splice(statement.start_byte, statement.end_byte, b"")
