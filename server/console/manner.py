"""How the command line speaks: -q, -v and --color, which every command takes, before or behind its own name.

The options stand at the program itself; words of them that come behind a command are moved there.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import typer.core

_FLAGS = ("-q", "--quiet", "-v", "--verbose")
_COLOR = "--color"
_OWN_WORDS = ("emulate",)  # commands that take the words of another program
_EPILOG = "Also, as every command: -q (no progress, no notes), -v (all details), --color auto|always|never."


class Color(StrEnum):
    """Whether text has colours."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True)
class Manner:
    """`quiet`: results and failures only. `verbose`: with what is left out else."""

    quiet: bool = False
    verbose: bool = False
    color: Color = Color.AUTO


_PLAIN = Manner()
MANNER: ContextVar[Manner] = ContextVar("manner", default=_PLAIN)  # set anew by each command line


class MannerGroup(typer.core.TyperGroup):
    """The program: takes its options wherever they stand before `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the options first."""
        return super().parse_args(ctx, options_first(args))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, whose help names the options that all have."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and not command.epilog and cmd_name not in _OWN_WORDS:
            command.epilog = _EPILOG
        return command


def options_first(args: list[str]) -> list[str]:
    """The words with -q, -v and --color in front; those behind `--`, or of another program, stay where they are."""
    end = next((at for at, word in enumerate(args) if word == "--" or word in _OWN_WORDS), len(args))
    ours: list[str] = []
    rest: list[str] = []
    words = iter(args[:end])
    for word in words:
        if word in _FLAGS or word.startswith(f"{_COLOR}="):
            ours.append(word)
        elif word == _COLOR:
            ours += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            rest.append(word)
    return [*ours, *rest, *args[end:]]
