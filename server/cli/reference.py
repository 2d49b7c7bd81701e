"""The part of docs/command-line.md that says which options there are: `python -m hipscope.server.cli.reference PAGE`.

Takes the parser of the command line, gives Markdown; writes it between the marks of the page, and the manual page
beside it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, CommandInfo, OptionInfo

from hipscope.server.cli import man
from hipscope.server.cli.main import app, options
from hipscope.server.console.options import ProgramCommand

PAGE = "docs/command-line.md"
MAN_PAGE = "hipscope.1"  # beside it
_BEGIN = "<!-- options: written by python -m hipscope.server.cli.reference -->"
_END = "<!-- end of options -->"
_OWN_HELP = ("emulate",)  # it takes the words of rocprofv3, and has a table of its own


@dataclass(frozen=True)
class CliParameter:
    """A parameter of a command: an option with its words, or an argument (`names` empty)."""

    names: tuple[str, ...]
    value: str
    default: str
    required: bool
    many: bool
    help: str


def usage() -> str:
    """One line per command, then a table of all options."""
    known = list(all_parameters(app))
    lines = [f"    {command_line(name, info.cls, parameters)}" for name, info, parameters in known]
    merged: dict[tuple[str, str, str], list[str]] = {}
    everywhere = _parameters(options)
    for name, found in (("every command", everywhere), *((name, found) for name, _, found in known)):
        for option in found:
            if option.names:
                words = " ".join(filter(None, [", ".join(option.names), option.value]))
                of = "hipscope" if option.names == ("--version",) else name
                merged.setdefault((_cell(words), option.default, _cell(option.help)), []).append(of)
    table = [
        f"| `{words}` | {', '.join(of)} | {default} | {what} |"
        for (words, default, what), of in merged.items()
    ]
    return "\n".join([*lines, "", "| option | of | default | what |", "|---|---|---|---|", *table])


def all_parameters(app: typer.Typer) -> Iterator[tuple[str, CommandInfo, list[CliParameter]]]:
    """Each command with its name and its parameters."""
    for info in app.registered_commands:
        if info.callback is not None:
            yield info.name or info.callback.__name__, info, list(_parameters(info.callback))


def renewed(page: str) -> str:
    """The page with its options as they are. Raises ValueError when it has no place for them."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"no `{_BEGIN}` with its end")
    return f"{before}{_BEGIN}\n\n{usage()}\n\n{_END}{after}"


def command_line(name: str, kind: type | None, parameters: Sequence[CliParameter]) -> str:
    """The words of a command, as its usage."""
    words = [f"{p.names[0]} {p.value}" for p in parameters if p.names and p.required]
    if name in _OWN_HELP or any(p.names and not p.required for p in parameters):
        words.append("[OPTIONS]")
    arguments = [p for p in parameters if not p.names]
    words += [(p.value if p.required else f"[{p.value}]") + "..." * p.many for p in arguments]
    if name in _OWN_HELP:
        words.append("-- PROGRAM [ARGS]")
    elif kind is ProgramCommand:
        words.append("[-- PROGRAM ARGS]")
    return " ".join(["hipscope", name, *words])


def _parameters(callback: Callable[..., Any]) -> Iterator[CliParameter]:
    """The parameters of a command, as its function declares them."""
    hints = get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        annotation, *metadata = get_args(hints[name]) or (hints[name],)
        declared = next((m for m in metadata if isinstance(m, OptionInfo | ArgumentInfo)), None)
        if declared is None:
            continue  # the context, which is nobody's word
        kinds = [kind for kind in (get_args(annotation) or (annotation,)) if kind is not type(None)]
        required = parameter.default is inspect.Parameter.empty
        default = "" if required or parameter.default in (None, False) else str(parameter.default)
        # Of an annotated option, typer takes the first of its names where a default would stand.
        first = (declared.default,) if isinstance(declared.default, str) else ()
        names = (*first, *(declared.param_decls or ())) or (f"--{name.replace('_', '-')}",)
        is_option = isinstance(declared, OptionInfo)
        yield CliParameter(
            names if is_option else (),
            declared.metavar or _value(kinds[0], name),
            default if is_option else "",
            required,
            get_origin(kinds[0]) is list,
            declared.help or "",
        )


def _value(kind: Any, name: str) -> str:
    """What stands for an option's value; nothing for a switch."""
    if kind is bool:
        return ""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return "|".join(kind)
    return "N" if kind is int else name.upper()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    page = Path(sys.argv[1] if len(sys.argv) > 1 else PAGE)
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
    page.with_name(MAN_PAGE).write_text(man.page(), encoding="utf-8")
