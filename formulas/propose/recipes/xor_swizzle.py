"""bankConflict: exchange the columns of an LDS array row by row, `a[i][j ^ (i & (C - 1))]`, where padding has no room.

Needs an array that is only used by full subscripts, with rows of a power of two: then the exchange is a bijection
within each row, and it takes no LDS. Every access is rewritten, which costs two integer operations each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, SharedArray, Subscript
from hipscope.formulas.facts.lane_model import Lanes
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import is_pure
from hipscope.formulas.propose.recipes.shared.lds_arrays import by_rows, conflicts, extents, full_uses, room
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "xor_swizzle"


def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One candidate for each suitable array."""
    del finding
    file = parse(source)
    candidates: list[Candidate] = []
    reasons: list[str] = []
    for array in kernel.shared:
        found = _swizzled(array, kernel, file, facts)
        if isinstance(found, str):
            reasons.append(found)
        else:
            candidates.append(_candidate(source, array, *found))
    if candidates:
        return candidates
    return Refusal(NAME, "; ".join(reasons) if reasons else "the kernel declares no __shared__ array")


def _swizzled(
    array: SharedArray, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts
) -> tuple[list[Subscript], int] | str:
    """The accesses and the row length, or the precondition that does not hold."""
    uses = full_uses(array, kernel)
    if isinstance(uses, str):
        return uses
    size = facts.bytes_of(array.element_type)
    shape = extents(array, kernel, file, facts)
    if size is None or shape is None:
        return f"the size of `{array.name}` is not known"
    columns = shape[-1]
    if columns < 2 or columns & (columns - 1):
        return f"the rows of `{array.name}` have {columns} elements, which is no power of two"
    if room(shape, size, max(1, 4 // size), facts) <= facts.lds_limit // 2:
        return f"`{array.name}` has room for padding, which costs nothing per access"
    if not all(is_pure(use.indices[-2], kernel) for use in uses):
        return f"a row index of `{array.name}` cannot be computed twice"
    before = conflicts(uses, by_rows(shape), size, kernel, file, facts)

    def exchanged(indices: Sequence[Lanes]) -> Lanes:
        return by_rows(shape)([*indices[:-1], indices[-1] ^ (indices[-2] & (columns - 1))])

    after = conflicts(uses, exchanged, size, kernel, file, facts)
    if before is not None and after is not None and after >= before:
        return f"the accesses to `{array.name}` would have as many bank conflicts as before"
    return uses, columns


def _candidate(source: bytes, array: SharedArray, uses: list[Subscript], columns: int) -> Candidate:
    splices = []
    for use in uses:
        row, column = use.indices[-2], use.indices[-1]
        mask = f"({_grouped(row)} & {columns - 1})"
        text = f"{_grouped(column)} ^ {mask}"
        splices.append(Splice(column.start_byte, column.end_byte, text.encode()))
    return Candidate(
        recipe=NAME,
        title=f"Exchange the columns of `{array.name}` row by row (XOR)",
        text=apply_splices(source, splices),
        expected="The lanes that read one column then use different LDS banks, and no LDS is added; results stay the "
        "same bit for bit.",
    )


def _grouped(node: Node) -> str:
    simple = node.type in ("identifier", "number_literal", "field_expression", "parenthesized_expression")
    return text_of(node) if simple else f"({text_of(node)})"
