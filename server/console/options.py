"""The words of the command line that several commands share: sources, back ends, devices, formats."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

_PROGRAM_ARGUMENTS = "hipscope.program_arguments"
_MOST_SHOWN = 80  # characters of a name that is too long
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, which newer versions of typer contain


class ProgramCommand(typer.core.TyperCommand):
    """A command that runs a program: what follows the first `--` is the program's, and nothing else is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the program's arguments aside; `program_arguments` gives them."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_PROGRAM_ARGUMENTS] = tuple(args[at + 1 :])
        try:
            return super().parse_args(ctx, args[:at])
        except typer.BadParameter:
            raise
        except _UsageError as error:
            if "unexpected extra argument" in str(error):
                raise typer.BadParameter(f"{error}; arguments of the program stand after `--`", ctx) from None
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- PROGRAM ARGS]"]


def program_arguments(context: typer.Context) -> tuple[str, ...]:
    """What stood after `--`."""
    found: tuple[str, ...] = context.meta.get(_PROGRAM_ARGUMENTS, ())
    return found


class Backend(StrEnum):
    """What records the profile."""

    AUTO = "auto"
    EMULATOR = "emulator"
    ROCM = "rocm"


class Format(StrEnum):
    """What the result looks like."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    CODEQUALITY = "codequality"


class Rewriter(StrEnum):
    """Who proposes a rewrite."""

    RECIPES = "recipes"
    LLM = "llm"
    BOTH = "both"


def named_path(word: str | Path) -> Path:
    """A path of the command line; an empty word, as a shell makes of an unset variable, is not the directory `.`.

    A default comes as a path.
    """
    if isinstance(word, str) and not word.strip():
        raise typer.BadParameter("the name is empty")
    try:
        Path(word).stat()
    except OSError as error:
        # What is not there is said by the command; under these names there can be nothing.
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise typer.BadParameter(f"{os.strerror(error.errno)}: {_shortened(str(word))}") from None
    return Path(word)


def _shortened(name: str) -> str:
    return name if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]}..."


Source = Annotated[
    Path,
    typer.Argument(
        parser=named_path, metavar="SOURCE|DIR", help="A program, or a directory with hipscope.toml."
    ),
]


Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        parser=named_path,
        metavar="SOURCE|DIR",
        help="Programs, or directories with hipscope.toml; the current directory when there is none.",
    ),
]


BenchOption = Annotated[
    str | None,
    typer.Option(
        "--bench",
        metavar="NAME",
        help="Run this bench of the source; without, all benches of a source that has no main.",
    ),
]


JobsOption = Annotated[
    int, typer.Option("--jobs", min=1, help="How many of several programs are built and run at a time.")
]


BackendOption = Annotated[
    Backend, typer.Option(help="What records the profile; auto takes a GPU if there is one.")
]


DeviceOption = Annotated[
    str | None, typer.Option(help="GPU to model: mi300x, mi300a, mi250x, mi210, mi355x.")
]


KeepGoingOption = Annotated[
    bool,
    typer.Option(
        "--keep-going",
        help="Leave accesses out of bounds out: loads give NaN, stores are dropped, the result is marked.",
    ),
]


_BY_SUFFIX = {".json": Format.JSON, ".html": Format.HTML, ".md": Format.MARKDOWN, ".sarif": Format.SARIF}


def _form(*others: Format) -> Callable[[typer.Context, Format], Format]:
    """What --format means: without it the suffix of --output says it; `others` are forms that other commands have."""

    def meant(context: typer.Context, form: Format) -> Format:
        source = context.get_parameter_source("format")
        # What is not on the command line is looked at behind what is, so --output is known here.
        output = context.params.get("output")
        if output is not None and (source is None or source.name == "DEFAULT"):
            by_suffix = _BY_SUFFIX.get(output.suffix.lower(), form)
            return form if by_suffix in others else by_suffix
        if form in others:
            of = "compare" if form is Format.JUNIT else "profile, show, check, optimize and compare"
            raise typer.BadParameter(f"{form.value} is a form of {of}")
        return form

    return meant


_FORM = "json prints one object and nothing else."
FormatOption = Annotated[
    Format,
    typer.Option("--format", help=_FORM, callback=_form(Format.SARIF, Format.JUNIT, Format.CODEQUALITY)),
]
FindingsFormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        help=f"{_FORM} sarif is for code scanning, codequality for GitLab.",
        callback=_form(Format.JUNIT),
    ),
]
GateFormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        help=f"{_FORM} junit is for CI; sarif and codequality have the head's findings.",
        callback=_form(),
    ),
]


def _form_and_file(word: str) -> tuple[Format, Path]:
    form, equals, name = word.partition("=")
    if not equals or form not in list(Format):
        raise typer.BadParameter(f"{word!r} is not FORMAT=FILE, such as html=change.html")
    return Format(form), named_path(name)


WriteOption = Annotated[
    list[Any] | None,
    typer.Option(
        "--write",
        parser=_form_and_file,
        metavar="FORMAT=FILE",
        help="Also write the result in this form, such as html=change.html or sarif=head.sarif; may be repeated.",
    ),
]


OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        parser=named_path,
        metavar="FILE",
        help="Write the result to this file; .json, .html, .md and .sarif say its --format.",
    ),
]


def sources_or_here(sources: list[Path] | None) -> list[Path]:
    """The programs of the command line, or the current directory."""
    return list(sources) if sources else [Path()]


def emulator_only(backend: Backend, command: str) -> None:
    """Raises UsageError for a back end other than the emulator, for commands that need what only it sees."""
    from hipscope.analysis.errors import UsageError

    if backend not in (Backend.AUTO, Backend.EMULATOR):
        raise UsageError(
            f"{command} runs programs on the emulator, not on {backend.value}", "leave out --backend"
        )
