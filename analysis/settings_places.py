"""Where a mistake stands in the text of a `hipscope.toml`.

Takes the text and the key that is wrong, or what the TOML reader said; gives line and characters, counted from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TABLE = re.compile(r"^\s*\[\[?\s*([A-Za-z0-9_.-]*)")
_KEY = re.compile(r"^(\s*)([A-Za-z0-9_.-]+)\s*=")
_PLACE = re.compile(r"at line (\d+), column (\d+)")
_AT_END = re.compile(r"at end of document")


@dataclass(frozen=True)
class KeyPlace:
    """A key as it stands in the text: its path, line and characters from 0."""

    path: str
    line: int
    start: int
    end: int


def mistake_place(text: str, key: str, message: str = "") -> KeyPlace:
    """The key that is wrong, the one that holds it, or the header of its table; what is no TOML is wrong where
    `message` says.
    """
    # `formulas.0` and `bench.0.file` stand at the key that they are in.
    found = next((k for k in key_places(text) if key == k.path or key.startswith(f"{k.path}.")), None)
    if found is not None:
        return found
    if (at := _PLACE.search(message)) is not None:
        return KeyPlace(key, int(at[1]) - 1, int(at[2]) - 1, int(at[2]))
    lines = text.split("\n")
    if _AT_END.search(message):
        return KeyPlace(key, max(n for n, line in enumerate(lines) if line.strip() or n == 0), 0, 0)
    table = key.partition(".")[0]
    header = next((n for n, line in enumerate(lines) if (m := table_of(line)) is not None and m == table), 0)
    return KeyPlace(key, header, 0, 0)


def key_places(text: str) -> Iterator[KeyPlace]:
    """The keys of a text, those of arrays and inline tables aside. A line within a string may be taken for one."""
    table, count = "", dict[str, int]()
    for number, line in enumerate(text.split("\n")):
        if (header := table_of(line)) is not None:
            table = header
            if line.lstrip().startswith("[["):
                count[table] = count.get(table, -1) + 1
                table = f"{table}.{count[table]}"
        elif (key := _KEY.match(line)) is not None:
            path = f"{table}.{key[2]}" if table else key[2]
            yield KeyPlace(path, number, len(key[1]), len(key[1]) + len(key[2]))


def table_of(line: str) -> str | None:
    """The name of the table that begins on a line."""
    header = _TABLE.match(line)
    return header[1] if header is not None else None
