"""Questions that are asked by a few lines behind the end of the text, where they move no byte of it.

Takes symbols or expressions, gives lines in a namespace of their own; and reads the answers. Explicit instances and
kernels that another file launches have no use in the text, and constants of expressions that stand nowhere no place.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hipscope.analysis.semantics.cursors import Cursor, Kind
from hipscope.analysis.semantics.units import Unit
from hipscope.emulator.symbolize import demangle

_SCOPE = "hipscope_asks"
_ANONYMOUS = "(anonymous namespace)::"


def instances_tail(symbols: Collection[str]) -> bytes:
    """Lines that use the kernels with these symbols; nothing for those whose names cannot be written (lambdas)."""
    lines = []
    for number, symbol in enumerate(symbols):
        name = demangle(symbol)
        if name == symbol or "{lambda" in name or "'lambda" in name:
            continue
        called = _taken(name.replace(_ANONYMOUS, ""))
        if called is not None:
            lines.append(f"static auto kernel_{number} = {called};")
    return f"\nnamespace {_SCOPE} {{ {' '.join(lines)} }}\n".encode() if lines else b""


def value_tail(expressions: Collection[str], namespaces: Sequence[str]) -> bytes:
    """Lines that give each expression to a constant."""
    lines = [f"constexpr auto value_{number} = ({text});" for number, text in enumerate(expressions)]
    inside = "".join(f"namespace {name} {{ " for name in (*namespaces, _SCOPE))
    return f"\n{inside}\n{chr(10).join(lines)}\n{'}' * (len(namespaces) + 1)}\n".encode()


def values_in(unit: Unit, expressions: Collection[str], end: int) -> dict[str, int | float | None]:
    """The values of these expressions in a unit that was read with their tail behind byte `end`."""
    broken = {error.line for error in unit.errors() if error.place is not None and error.place.span[0] >= end}
    found: dict[str, int | float | None] = dict.fromkeys(expressions)
    variables = {cursor.spelling: cursor for cursor in _behind(unit, unit.top.children, end)}
    for number, text in enumerate(expressions):
        cursor = variables.get(f"value_{number}")
        if cursor is not None and cursor.name_offset.line not in broken:
            found[text] = cursor.value
    return found


def _behind(unit: Unit, cursors: list[Cursor], end: int) -> list[Cursor]:
    found = []
    for cursor in cursors:
        if unit.path(cursor.file) != unit.command.file or cursor.end.offset <= end:
            continue
        if cursor.kind == Kind.NAMESPACE:
            found += _behind(unit, cursor.children, end)
        elif cursor.kind == Kind.VARIABLE:
            found.append(cursor)
    return found


def _taken(name: str) -> str | None:
    """The address of a function by its demangled name: `&k<Vec, 64>`, cast to its type where that is known."""
    opened = _parameters_at(name)
    if opened is None:
        return None
    head, parameters = name[:opened], name[opened:]
    result, called = _split(head)
    return f"static_cast<{result or 'void'} (*){parameters}>(&{called})" if called else None


def _parameters_at(name: str) -> int | None:
    """Where the parameters of a demangled function begin."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0 and name[at] == "(":
            return at
        if depth == 0 and name[at] != ")":
            return None
    return None


def _split(head: str) -> tuple[str, str]:
    """Result and name of `void ns::k<Vec, 64>`: the blank outside of all brackets parts them."""
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        depth += {">": 1, ")": 1, "<": -1, "(": -1}.get(head[at], 0)
        if depth == 0 and head[at] == " ":
            return head[:at], head[at + 1 :]
    return "", head
