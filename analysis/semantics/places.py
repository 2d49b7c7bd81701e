"""Where a cursor stands in the program's text, in bytes; and the tree-sitter node that stands there.

Takes cursors, gives places. What a macro makes has the bytes of the macro's use; what stands in an argument of a macro
has its own, up to the end of the tree-sitter node there, because the compiler only says where it begins.
"""

from __future__ import annotations

from pathlib import Path

from tree_sitter import Node

from hipscope.analysis.semantics.cursors import Cursor, Kind
from hipscope.analysis.semantics.records import Place
from hipscope.analysis.semantics.units import Unit
from hipscope.analysis.source.parse import attribute_macros, tree_of
from hipscope.analysis.source.texts import SourceTexts

_NODES: dict[int, frozenset[str]] = {
    Kind.SUBSCRIPT: frozenset({"subscript_expression"}),
    Kind.NAME: frozenset({"identifier", "qualified_identifier", "template_function"}),
    Kind.MEMBER: frozenset({"field_expression", "identifier"}),
    Kind.CALL: frozenset({"call_expression"}),
    Kind.UNARY: frozenset({"pointer_expression", "unary_expression", "update_expression"}),
    Kind.BINARY: frozenset({"binary_expression", "assignment_expression"}),
    Kind.COMPOUND_ASSIGNMENT: frozenset({"assignment_expression"}),
    Kind.PARENTHESES: frozenset({"parenthesized_expression"}),
    Kind.INTEGER: frozenset({"number_literal"}),
    Kind.C_CAST: frozenset({"cast_expression"}),
}


class Places:
    """The places of one reading of a unit."""

    def __init__(self, unit: Unit, texts: SourceTexts) -> None:
        self._unit, self._texts = unit, texts
        self._trees: dict[Path, Node | None] = {}
        self._macro_uses = frozenset(unit.macro_uses())

    def of(self, cursor: Cursor) -> Place | None:
        """Where the cursor stands; None for what is not in the program's files, or was made up by the compiler."""
        start = cursor.start
        path = self._unit.path(start.file)
        if path is None:
            return None
        end = cursor.end
        in_file = cursor.file_start
        if in_file.offset != start.offset and in_file.file == start.file:
            argument = self._in_argument(cursor, path, in_file.offset)
            if argument is not None:
                return argument
            name, use_end = self._macro_use(path, start.offset)  # begins in an argument and goes on behind it
            return Place(path, (start.offset, use_end), name)
        if end.offset < start.offset or end.file != start.file:
            return None
        span = (start.offset, end.offset)
        if span == (0, 0):
            return None
        if self._in_macro(cursor, path, start.file, start.offset):
            name, use_end = self._macro_use(path, start.offset)
            if end.offset <= use_end:
                return Place(path, (start.offset, use_end), name)
        return Place(path, span)

    def text(self, path: Path) -> bytes | None:
        """What a file of the program holds."""
        return self._texts.read(path)

    def _in_macro(self, cursor: Cursor, path: Path, file: str, offset: int) -> bool:
        if not self._unit.tells_macros:
            return (path, offset) in self._macro_uses
        written = cursor.written
        return written.offset != offset or written.file != file

    def _in_argument(self, cursor: Cursor, path: Path, start: int) -> Place | None:
        root = self._tree(path)
        wanted = _NODES.get(cursor.kind, frozenset())
        node = root.descendant_for_byte_range(start, start) if root is not None else None
        found = []
        while node is not None and node.start_byte == start:
            if node.type in wanted:
                found.append(node)
            node = node.parent
        depth = _nested(cursor)
        if len(found) <= depth:
            return None
        return Place(path, (start, found[depth].end_byte))

    def _macro_use(self, path: Path, offset: int) -> tuple[str, int]:
        """Name and end of the use of a macro that begins at `offset`."""
        data, root = self._texts.read(path) or b"", self._tree(path)
        end = _word_end(data, offset)
        name = data[offset:end].decode("utf-8", "replace")
        return name, _closing(data, end) if root is not None else end

    def _tree(self, path: Path) -> Node | None:
        if path not in self._trees:
            data = self._texts.read(path)
            self._trees[path] = None if data is None else tree_of(data, attribute_macros([data]))
        return self._trees[path]


def _nested(cursor: Cursor) -> int:
    """How many expressions of the same kind begin where this one does, inside it: 1 for `a[i][j]`."""
    start, depth, current = cursor.file_start.offset, 0, cursor
    while True:
        below = [child for child in current.children if child.file_start.offset == start]
        if not below:
            return depth
        current = below[0]
        if current.kind == cursor.kind:
            depth += 1


def _word_end(data: bytes, start: int) -> int:
    end = start
    while end < len(data) and (data[end : end + 1].isalnum() or data[end] == 0x5F or data[end] >= 0x80):
        end += 1
    return end


def _closing(data: bytes, start: int) -> int:
    """Behind the arguments of a macro that begin at `start`; `start` when there are none."""
    at = start
    while data[at : at + 1].isspace():
        at += 1
    if data[at : at + 1] != b"(":
        return start
    depth = 0
    for end in range(at, len(data)):
        depth += {0x28: 1, 0x29: -1}.get(data[end], 0)
        if depth == 0:
            return end + 1
    return start
