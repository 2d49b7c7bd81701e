"""What the pages of the command line say of commands and options: `python -m hipscope.server.cli.reference`.

Takes the parser of the command line, gives Markdown; writes it between the marks of the pages, and the manual page
beside them.
"""

from __future__ import annotations

import inspect
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

MAN_PAGE = "docs/hipscope.1"
_COMMANDS = "docs/command-line.md"
# Which page has the options of which commands; the last one has those of all others, and of every command.
_PROFILES, _REWRITES, _TOOLS = (f"docs/options-{name}.md" for name in ("profiles", "rewrites", "tools"))
_PAGE_OF = {
    **dict.fromkeys(
        ("init", "profile", "show", "compare", "history", "check", "resources", "sweep"), _PROFILES
    ),
    **dict.fromkeys(
        ("optimize", "recipes", "validate", "restore", "prompt", "consent", "llm", "attempts"), _REWRITES
    ),
}
PAGES = (_COMMANDS, _PROFILES, _REWRITES, _TOOLS)
_BEGIN = "<!-- {}: written by python -m hipscope.server.cli.reference -->"
_END = "<!-- end of {} -->"
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


def commands() -> str:
    """One line per command."""
    known = all_parameters(app)
    return "\n".join(f"    {command_line(name, info.cls, parameters)}" for name, info, parameters in known)


def option_table(page: str) -> str:
    """The options of the commands of a page."""
    everywhere = ("every command", list(_parameters(options)))
    known = [everywhere, *((name, found) for name, _, found in all_parameters(app))]
    merged: dict[tuple[str, str, str], list[str]] = {}
    for name, found in known:
        for option in found if _PAGE_OF.get(name, _TOOLS) == page else ():
            if option.names:
                words = " ".join(filter(None, [", ".join(option.names), option.value]))
                of = "hipscope" if option.names == ("--version",) else name
                merged.setdefault((_cell(words), option.default, _cell(option.help)), []).append(of)
    table = [
        f"| `{words}` | {', '.join(of)} | {default} | {what} |"
        for (words, default, what), of in merged.items()
    ]
    return "\n".join(["| option | of | default | what |", "|---|---|---|---|", *table])


def all_parameters(app: typer.Typer) -> Iterator[tuple[str, CommandInfo, list[CliParameter]]]:
    """Each command with its name and its parameters."""
    for info in app.registered_commands:
        if info.callback is not None:
            yield info.name or info.callback.__name__, info, list(_parameters(info.callback))


def renewed(page: str, text: str) -> str:
    """The text of a page with its commands or options as they are. Raises ValueError without a place for them."""
    what = "commands" if page == _COMMANDS else "options"
    first, last = _BEGIN.format(what), _END.format(what)
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not (begin and end):
        raise ValueError(f"no `{first}` with its end")
    return f"{before}{begin}\n\n{commands() if page == _COMMANDS else option_table(page)}\n\n{end}{after}"


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
    for page in map(Path, PAGES):
        page.write_text(renewed(str(page), page.read_text(encoding="utf-8")), encoding="utf-8")
    Path(MAN_PAGE).write_text(man.page(), encoding="utf-8")
