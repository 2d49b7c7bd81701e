"""Pragmas before loops: which one stands there, and the splice that writes another.

Takes loop nodes of any kind, gives splices. Whether unrolling helps is not known here.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from hipscope.analysis.source.nodes import text_of
from hipscope.formulas.propose.rules.shared.edit_helpers import indentation, line_start
from hipscope.formulas.propose.splice import Splice

UNROLL_PRAGMA = re.compile(r"#\s*pragma\s+(no)?unroll\b")


def pragma_before(loop: Node) -> Node | None:
    """The unroll pragma that stands before a loop, comments between them left out."""
    before = loop.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    return before if before is not None and UNROLL_PRAGMA.match(text_of(before)) else None


def pragma_text(source: bytes, loop: Node) -> tuple[int, int] | None:
    """The bytes of the unroll pragma before a loop, from its `#`, where no node stands for it, too: the parser leaves
    out one between a loop and the loop that is its body without braces.
    """
    pragma = pragma_before(loop)
    if pragma is not None:
        return pragma.start_byte, pragma.start_byte + len(text_of(pragma).rstrip("\r\n").encode())
    end = line_start(source, loop.start_byte) - 1
    start = line_start(source, end) if end > 0 else 0
    above = source[start : max(end, 0)]
    text = above.strip()
    if source[end + 1 : loop.start_byte].strip() or not UNROLL_PRAGMA.match(text.decode("utf-8", "replace")):
        return None
    start += above.index(text)
    return start, start + len(text)


def pragma_splice(source: bytes, loop: Node, told: str, newline: str, step: str) -> Splice:
    """The splice that writes `#pragma` and what is `told` before a loop, in place of an unroll pragma."""
    pragma = pragma_text(source, loop)
    if pragma is not None:
        return Splice(*pragma, f"#pragma {told}".encode())
    start = line_start(source, loop.start_byte)
    if source[start : loop.start_byte].strip():
        text = f"{newline}#pragma {told}{newline}{indentation(source, start)}{step}"
        return Splice(loop.start_byte, loop.start_byte, text.encode())
    return Splice(start, start, f"{indentation(source, start)}#pragma {told}{newline}".encode())
