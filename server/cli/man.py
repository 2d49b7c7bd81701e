"""`hipscope man`: the manual page, made of the parser of the command line.

Takes the commands with their options and help, gives roff (man-pages(7)). `python -m hipscope.server.cli.reference`
writes it into docs/hipscope.1, which the wheel installs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import typer

_INTRODUCTION = (
    "hipscope builds a HIP program, runs it on an emulator of AMD GPUs (or on a GPU), and says for each line what its "
    "kernels wait for. It offers rewrites that were proved on the program's own data and timed. A SOURCE is a file "
    "with main, a file of kernels with benches, or a folder with hipscope.toml."
)
_EXIT = (
    ("0", "done"),
    ("1", "no verified improvement, a defect that check found, or kernels that differ"),
    ("2", "bad input"),
    ("3", "a tool is missing"),
    ("4", "the program or its build failed"),
    ("5", "a limit of --fail-on was passed"),
    ("130", "stopped"),
    ("141", "the reader of the output has gone"),
)


def man() -> None:
    """Write the manual page: hipscope man | man -l -"""
    sys.stdout.write(page())


def page() -> str:
    """The manual page of all commands."""
    return "\n".join(['.TH HIPSCOPE 1 "" "hipscope" "User Commands"', *_body(), ""])


def _body() -> Iterator[str]:
    from hipscope.server.cli.emulate import HELP
    from hipscope.server.cli.main import app
    from hipscope.server.cli.reference import all_parameters, command_line

    yield from (".SH NAME", r"hipscope \- see where a HIP program waits on the GPU, line by line")
    yield from (".SH SYNOPSIS", ".B hipscope", r"[\-q] [\-v] [\-\-color auto|always|never] COMMAND [OPTIONS]")
    yield from (".SH DESCRIPTION", _text(_INTRODUCTION), ".SH COMMANDS")
    for name, info, parameters in all_parameters(app):
        yield from (".SS " + _text(command_line(name, info.cls, parameters)), _text(_first_line(info)))
        if name == "emulate":
            yield from (".nf", *(_verbatim(line) for line in HELP.partition("\n\n")[2].splitlines()), ".fi")
        for option in parameters:
            words = " ".join(filter(None, [", ".join(option.names), option.value]))
            default = f" (default: {option.default})" if option.default else ""
            yield from (".TP", r"\fB" + _text(words) + r"\fR", _text(option.help + default))
    yield ".SH EXIT STATUS"
    for code, meaning in _EXIT:
        yield from (".TP", rf"\fB{code}\fR", meaning)
    yield from (
        ".SH FILES",
        ".TP",
        "hipscope.toml",
        "how a program is built and run, and the settings of its folder",
    )


def _first_line(info: typer.models.CommandInfo) -> str:
    said = info.short_help or info.help or (info.callback.__doc__ if info.callback else "") or ""
    return said.strip().partition("\n\n")[0]


def _verbatim(line: str) -> str:
    """A line that is shown as it is."""
    return _escaped(line)


def _text(words: str) -> str:
    """Words as roff has them: a backslash and a hyphen as themselves, no control at the begin of a line."""
    return _escaped(" ".join(words.split()))


def _escaped(line: str) -> str:
    plain = line.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
