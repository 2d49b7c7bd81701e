"""Questions about one line of a source: the expression at a column, the shared array it uses, the branch around it.

Takes a file and a line, gives columns, declarations, numbers. Without the text the answers are empty.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, names_in, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, parse

_OPENING = {"(": ")", "[": "]"}


@dataclass(frozen=True)
class SharedArray:
    """A `__shared__` declaration: name, element type, dimensions as written, and its line."""

    name: str
    element: str
    dimensions: tuple[str, ...]
    line: int


def column_range(file: str, line: int, column: int) -> tuple[int, int]:
    """The expression that starts at `column`, or the statement around an assignment; (0, 0) without the text.

    Columns count characters from 1 and the second one is behind the end. Expressions that go on over the end of the
    line are cut there.
    """
    lines = source_lines(file)
    if not 0 < line <= len(lines):
        return 0, 0
    text = without_comment(lines[line - 1])
    if not text.strip():
        return 0, 0
    if not 0 < column <= len(text):
        return len(text) - len(text.lstrip()) + 1, len(text) + 1
    start = column - 1
    if text[start] in "=+-*/%&|^<>":
        return _statement(text, start)
    end = _expression_end(text, start)
    return start + 1, end + 1


def shared_array_at(file: str, line: int) -> SharedArray | None:
    """The `__shared__` array that the line subscripts, if the file declares it."""
    lines = source_lines(file)
    if not 0 < line <= len(lines):
        return None
    text = without_comment(lines[line - 1])
    for array in _shared_arrays(file):
        if re.search(rf"\b{re.escape(array.name)}\s*\[", text):
            return array
    return None


def subscripts_at(file: str, line: int, name: str) -> tuple[str, ...]:
    """The subscripts of the first use of `name[...][...]` on a line, as written."""
    lines = source_lines(file)
    text = without_comment(lines[line - 1]) if 0 < line <= len(lines) else ""
    match = re.search(rf"\b{re.escape(name)}\s*(?=\[)", text)
    if match is None:
        return ()
    found = []
    position = match.end()
    while position < len(text) and text[position] == "[":
        end = _closing(text, position)
        found.append(text[position + 1 : end - 1].strip())
        position = end
    return tuple(found)


def branch_around(file: str, line: int) -> tuple[int, int] | None:
    """Line and column (from 1) of the innermost condition that decides how often a line runs, within its function.

    A loop that makes the same steps for every lane decides nothing; it counts only where no other condition is.
    """
    lines = source_lines(file)
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1]
    row, indent = line - 1, len(text) - len(text.lstrip())
    end = len(text.rstrip().encode())  # tree-sitter counts bytes; blanks are one each
    syntax = _syntax("\n".join(lines))
    node = syntax.root.descendant_for_point_range((row, indent), (row, end))
    found: list[Node] = []
    while node is not None and node.type != "function_definition":
        if node.child_by_field_name("condition") is not None and node.start_point.row <= row:
            found.append(node)
        node = node.parent
    if not found:
        return None
    deciding = next((n for n in found if not _same_for_all(n, frozenset(syntax.constants))), found[0])
    condition = child_of(deciding, "condition")
    start = (condition.named_children[0] if condition.named_children else condition).start_point
    if condition.type != "condition_clause":
        start = condition.start_point
    before = lines[start.row].encode()[: start.column]
    return start.row + 1, len(before.decode("utf-8", "replace")) + 1


def _same_for_all(loop: Node, constants: frozenset[str]) -> bool:
    """A `for` that counts a variable of its own between constants, and that nothing leaves early."""
    if loop.type != "for_statement":
        return False
    start, body = child_of(loop, "initializer"), child_of(loop, "body")
    counters = {text_of(child_of(n, "declarator")) for n in walk(start) if n.type == "init_declarator"}
    names = names_in(start) | names_in(child_of(loop, "condition")) | names_in(child_of(loop, "update"))
    if not counters or not names <= counters | constants:
        return False
    return not any(
        n.type in ("break_statement", "continue_statement", "return_statement", "goto_statement")
        or (
            n.type in ("assignment_expression", "update_expression")
            and names_in(n.named_children[0]) & counters
        )
        for n in walk(body)
    )


def function_text(file: str, line: int) -> str:
    """The function around a line, without comments; empty when it cannot be read."""
    lines = source_lines(file)
    if not 0 < line <= len(lines):
        return ""
    node: Node | None = _syntax("\n".join(lines)).root.descendant_for_point_range(
        (line - 1, 0), (line - 1, 0)
    )
    while node is not None and node.type != "function_definition":
        node = node.parent
    if node is None:
        return ""
    return "\n".join(without_comment(text) for text in lines[node.start_point.row : node.end_point.row + 1])


@functools.lru_cache(maxsize=8)
def _syntax(text: str) -> FileSyntax:
    return parse(text.encode())


def source_lines(file: str) -> tuple[str, ...]:
    """The lines of a file as it is on disk now; empty when it cannot be read."""
    try:
        status = Path(file).stat()
    except OSError:
        return ()
    return _read(file, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=64)
def _read(file: str, _changed: int, _size: int) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()


def _shared_arrays(file: str) -> Iterable[SharedArray]:
    declaration = re.compile(
        r"__shared__\s+(?P<type>[\w:<>, ]+?)\s+(?P<name>\w+)\s*(?P<dims>(?:\[[^\]]*\]\s*)+)"
    )
    for number, text in enumerate(source_lines(file), start=1):
        for match in declaration.finditer(without_comment(text)):
            dimensions = tuple(d.strip() for d in re.findall(r"\[([^\]]*)\]", match["dims"]))
            yield SharedArray(match["name"], match["type"], dimensions, number)


def constant_value(file: str, text: str) -> int | None:
    """A dimension as a number: a literal, or a constant of the file that is set to a literal; sums of those."""
    total = 0
    for part in text.split("+"):
        value = _constants(file).get(part.strip())
        if value is None:
            try:
                value = int(part.strip(), 0)
            except ValueError:
                return None
        total += value
    return total


def _constants(file: str) -> Mapping[str, int]:
    found: dict[str, int] = {}
    pattern = re.compile(r"(?:#define\s+(\w+)\s+|\bconst(?:expr)?\b[^=;()]*?\b(\w+)\s*=\s*)(\d+)\b")
    for text in source_lines(file):
        for match in pattern.finditer(text):
            found[match[1] or match[2]] = int(match[3])
    return found


def without_comment(line: str) -> str:
    """The line without a trailing comment and white space. Quotes are respected only as far as `//` needs it."""
    quoted = False
    for position, character in enumerate(line):
        if character == '"' and (position == 0 or line[position - 1] != "\\"):
            quoted = not quoted
        elif not quoted and line.startswith("//", position):
            return line[:position].rstrip()
    return line.rstrip()


def _statement(text: str, position: int) -> tuple[int, int]:
    """From the start of the statement around `position` to its semicolon."""
    start = max(text.rfind(mark, 0, position) for mark in ";{}") + 1
    guard = re.match(r"\s*(?:if|for|while)\s*\(", text[start:])
    if guard is not None:
        start = _closing(text, start + guard.end() - 1)
    start += len(text[start:]) - len(text[start:].lstrip())
    end = text.find(";", position)
    return start + 1, (len(text) if end < 0 else end) + 1


def _expression_end(text: str, start: int) -> int:
    """Behind an identifier with everything that is called on it, indexed or selected from it."""
    position = start
    if text[position] in "*&!~-(":
        position = _closing(text, position) if text[position] == "(" else position + 1
    while position < len(text):
        if text[position].isalnum() or text[position] == "_":
            position += 1
        elif text[position] in _OPENING:
            position = _closing(text, position)
        elif text.startswith(("::", "->"), position):
            position += 2
        elif text[position] == "." and position + 1 < len(text):
            position += 1
        else:
            break
    return max(position, start + 1)


def _closing(text: str, position: int) -> int:
    """Behind the bracket that closes the one at `position`, or the end of the line."""
    depth = 0
    for index in range(position, len(text)):
        if text[index] in _OPENING:
            depth += 1
        elif text[index] in _OPENING.values():
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)
