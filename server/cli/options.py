"""The words of the command line that several commands share: sources, back ends, devices, formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Backend(StrEnum):
    """What records the profile."""

    AUTO = "auto"
    EMULATOR = "emulator"
    ROCM = "rocm"
    NVIDIA = "nvidia"


class Format(StrEnum):
    """What the result looks like."""

    TEXT = "text"
    JSON = "json"


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
    return Path(word)


Source = Annotated[
    Path,
    typer.Argument(
        parser=named_path, metavar="SOURCE|DIR", help="A program, or a directory with hipscope.toml."
    ),
]


Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- PROGRAM ARGS]", help="What the program is given.")
]


BackendOption = Annotated[
    Backend, typer.Option(help="What records the profile; auto takes a GPU if there is one.")
]


DeviceOption = Annotated[
    str | None, typer.Option(help="GPU to model: mi300x, mi300a, mi250x, mi210, mi355x.", show_default=False)
]


KeepGoingOption = Annotated[
    bool,
    typer.Option(
        "--keep-going",
        help="Leave accesses out of bounds out: loads give NaN, stores are dropped, the result is marked.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="json prints one object and nothing else.")]
