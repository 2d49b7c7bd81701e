"""The names of HIP and its compiler, by what they do: `kernel/builtins.toml` read once.

Takes the name of a class there, gives a pattern of its names, or whether a name is one. Every part that asks what a
name of the toolchain does asks here.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TABLE = Path(__file__).parent / "kernel" / "builtins.toml"
_ANY = {"*": r"\w*", "?": r"\w+"}


@dataclass(frozen=True)
class BuiltIns:
    """A class of names: `what` they do, and the patterns of functions and of methods."""

    what: str
    names: tuple[str, ...]
    methods: tuple[str, ...] = ()


@functools.cache
def classes() -> Mapping[str, BuiltIns]:
    """All rows of the table."""
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {
        name: BuiltIns(row["what"], tuple(row["names"]), tuple(row.get("methods", ())))
        for name, row in rows.items()
    }


@functools.lru_cache(maxsize=4096)
def is_a(name: str, *of: str) -> bool:
    """Whether a name, with `std::` or without, is in one of these classes."""
    return _whole(*of).fullmatch(name.removeprefix("::").removeprefix("std::")) is not None


@functools.lru_cache(maxsize=1024)
def method_is_a(name: str, *of: str) -> bool:
    """The same of a method."""
    rows = [pattern for row in of for pattern in classes()[row].methods]
    return any(re.fullmatch(_expression(pattern), name) for pattern in rows)


@functools.cache
def words(*of: str) -> re.Pattern[str]:
    """Finds names of these classes in a text, and calls of their methods."""
    rows = [classes()[name] for name in of]
    names = "|".join(_expression(pattern) for row in rows for pattern in row.names)
    methods = "|".join(_expression(pattern) for row in rows for pattern in row.methods)
    called = rf"|(?:\.|->)\s*(?:{methods})\s*\(" if methods else ""
    return re.compile(rf"\b(?:{names})\b{called}")


@functools.cache
def _whole(*of: str) -> re.Pattern[str]:
    return re.compile("|".join(_expression(pattern) for name in of for pattern in classes()[name].names))


def _expression(pattern: str) -> str:
    return re.sub(r"[*?]", lambda sign: _ANY[sign[0]], pattern)
