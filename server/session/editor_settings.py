"""What the user has set for the editor (section `hipscope`), from the client's JSON to one frozen record.

Unknown keys are ignored, because clients send the settings of their own extension too; a value of the wrong kind
keeps the default and gives a line for the user.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

SECTION = "hipscope"


@dataclass(frozen=True)
class EditorSettings:
    """One field per setting; the name in the editor is the same in camelCase (`hipscope.profileOnSave`)."""

    profile_on_save: bool = True
    profile_on_open: bool = False
    notes_without_run: bool = True
    backend: Literal["auto", "emulator", "rocm"] = "auto"
    device: str | None = None
    arch: str | None = None
    formula: str = "auto"
    rewriter: Literal["recipes", "llm", "both"] | None = None
    apply: Literal["ask", "directly"] = "ask"
    program_arguments: tuple[str, ...] = ()
    time_budget: float | None = None
    parallel_jobs: int = 1
    minimum_share: float = 0.02
    stalled_lines: bool = True
    inlay_hints: bool = True
    code_lens: bool = True


def read_settings(data: object) -> tuple[EditorSettings, list[str]]:
    """The settings in the client's object, and one line for each value that had to be left out."""
    if not isinstance(data, Mapping):
        return EditorSettings(), []
    section = data.get(SECTION, data)
    if not isinstance(section, Mapping):
        return EditorSettings(), []
    hints = typing.get_type_hints(EditorSettings)
    values: dict[str, Any] = {}
    problems = []
    for field in fields(EditorSettings):
        name = camel_case(field.name)
        if section.get(name) in (None, ""):
            continue
        try:
            values[field.name] = _checked(section[name], hints[field.name])
        except ValueError as wrong:
            problems.append(f"setting {SECTION}.{name}: {wrong}; using {field.default!r}")
    return EditorSettings(**values), problems


def camel_case(name: str) -> str:
    """`profile_on_save` -> `profileOnSave`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _checked(value: object, kind: Any) -> object:
    choices = typing.get_args(kind)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        kind = next(c for c in choices if c is not type(None))
        choices = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        if value in choices:
            return value
        raise ValueError(f"expected one of {', '.join(choices)}, got {value!r}")
    if typing.get_origin(kind) is tuple:
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return tuple(value)
        raise ValueError(f"expected a list of strings, got {value!r}")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and not (kind is int and (isinstance(value, bool) or value < 1)):
        return value
    if kind is int:
        raise ValueError(f"expected a number of at least 1, got {value!r}")
    raise ValueError(f"expected {kind.__name__}, got {value!r}")
