"""Declarations that leave their place: with the comments that belong to them, and without empty lines left over.

Takes declarations, gives comments and splices.
"""

from __future__ import annotations

from tree_sitter import Node

from hipscope.formulas.propose.rules.shared.edit_helpers import line_start
from hipscope.formulas.propose.splice import Splice


def comments_of(declaration: Node) -> list[Node]:
    """The comments right above a declaration, and behind it on its line."""
    found: list[Node] = []
    below, above = declaration, declaration.prev_sibling
    while above is not None and above.type == "comment" and above.end_point.row + 1 == below.start_point.row:
        if above.prev_sibling is not None and above.prev_sibling.end_point.row == above.start_point.row:
            break  # it belongs to what stands before it on its line
        found.insert(0, above)
        below, above = above, above.prev_sibling
    behind = declaration.next_sibling
    if (
        behind is not None
        and behind.type == "comment"
        and behind.start_point.row == declaration.end_point.row
    ):
        found.append(behind)
    return found


def removal(source: bytes, declaration: Node) -> Splice:
    """A declaration and its comments taken out, with their lines where nothing else stands there."""
    all_of_it = [declaration, *comments_of(declaration)]
    first, last = min(n.start_byte for n in all_of_it), max(n.end_byte for n in all_of_it)
    start, end = line_start(source, first), source.find(b"\n", last) + 1
    if source[start:first].strip() or source[last:end].strip():
        return Splice(declaration.start_byte, declaration.end_byte, b"")
    above = line_start(source, start - 1)
    below = source.find(b"\n", end) + 1
    if not source[above:start].strip() and not source[end:below].strip():
        end = below  # one empty line is enough
    return Splice(start, end, b"")
