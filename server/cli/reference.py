"""The part of docs/command-line.md that says which options there are: `python -m hipscope.server.cli.reference PAGE`.

Takes the parser of the command line, gives Markdown; writes it between the marks of the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hipscope.server.cli.main import app

PAGE = "docs/command-line.md"
_BEGIN = "<!-- options: written by python -m hipscope.server.cli.reference -->"
_END = "<!-- end of options -->"
_OWN_HELP = ("emulate",)  # it takes the words of rocprofv3, and has a table of its own


def usage() -> str:
    """One line per command, then a table of all options."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = [f"    {_line(name, command)}" for name, command in commands.items()]
    rows = [
        row for name, command in commands.items() if name not in _OWN_HELP for row in _rows(name, command)
    ]
    merged: dict[tuple[str, str, str], list[str]] = {}
    for name, *row in rows:
        merged.setdefault((row[0], row[1], row[2]), []).append(name)
    table = ["| option | of | default | what |", "|---|---|---|---|"]
    for (option, default, text), names in merged.items():
        table.append(f"| `{option}` | {', '.join(names)} | {default} | {text} |")
    return "\n".join([*lines, "", *table])


def renewed(page: str) -> str:
    """The page with its options as they are. Raises ValueError when it has no place for them."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"no `{_BEGIN}` with its end")
    return f"{before}{_BEGIN}\n\n{usage()}\n\n{_END}{after}"


def _line(name: str, command: Any) -> str:
    words = []
    for parameter in command.params:
        if _is_option(parameter) and parameter.required:
            words.append(f"{parameter.opts[0]} {_value(parameter)}")
    words.append("[OPTIONS]" if name in _OWN_HELP or any(map(_is_shown, command.params)) else "")
    for parameter in command.params:
        if not _is_option(parameter):
            metavar = parameter.metavar or parameter.name.upper()
            many = "..." if parameter.nargs == -1 else ""
            words.append(f"{metavar}{many}" if parameter.required else f"[{metavar}]{many}")
    if name in _OWN_HELP:
        words.append("-- PROGRAM [ARGS]")
    elif type(command).__name__ == "ProgramCommand":
        words.append("[-- PROGRAM ARGS]")
    return " ".join(["hipscope", name, *filter(None, words)])


def _rows(name: str, command: Any) -> Iterator[tuple[str, str, str, str]]:
    for parameter in filter(_is_shown, command.params):
        names = ", ".join(parameter.opts)
        value = "" if parameter.is_flag else f" {_value(parameter)}"
        default = parameter.default
        shown = default is not None and not parameter.is_flag and not callable(default)
        text = str(getattr(default, "value", default)) if shown else ""
        yield name, f"{names}{value}".replace("|", "\\|"), text, (parameter.help or "").replace("|", "\\|")


def _value(parameter: Any) -> str:
    choices = getattr(parameter.type, "choices", None)
    if parameter.metavar:
        return str(parameter.metavar)
    if choices:
        return "|".join(str(getattr(choice, "value", choice)) for choice in choices)
    kinds = {"integer": "N", "integer range": "N", "path": "FILE"}
    return kinds.get(parameter.type.name, parameter.name.upper())


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _is_shown(parameter: Any) -> bool:
    return _is_option(parameter) and "--help" not in parameter.opts


if __name__ == "__main__":
    page = Path(sys.argv[1] if len(sys.argv) > 1 else PAGE)
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
