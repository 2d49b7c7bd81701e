"""The shell command that runs a program, with other arguments for the program.

Takes the `run` of a hipscope.toml and words, gives a command. Parses no more of the shell than words and operators.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s*(?:(?P<operator>&&|\|\||[;|&()\n])|(?P<redirect>\d*(?:<<|>>|>&|&>|<&|<|>)\s*[^\s;|&<>()]*)"
    r"|(?P<word>(?:[^\s'\"\\;|&<>()]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")+))",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    end: int


def with_arguments(run: str, arguments: Sequence[str]) -> str:
    """The command with these arguments in place of those that it gives the program.

    The program is the last command's: its first word with a slash, as in `timeout 9 ./app 1`, else its first word.
    Redirections, and what stands before and behind that command, stay.
    """
    command = _last_command(run)
    if not command:
        return " ".join([run, *map(shlex.quote, arguments)])
    at = next((n for n, word in enumerate(command) if "/" in word.text), 0)
    program, end = command[at], command[-1].end
    given = "".join(f" {shlex.quote(argument)}" for argument in arguments)
    return run[: program.end] + given + run[end:]


def arguments_in(run: str) -> tuple[str, ...]:
    """The arguments that a command gives its program, which is the one that `with_arguments` finds."""
    words = _last_command(run)
    at = next((n for n, word in enumerate(words) if "/" in word.text), 0)
    return tuple(part for word in words[at + 1 :] for part in shlex.split(word.text))


def _last_command(run: str) -> list[_Word]:
    """The words of the last command, but for variables that are set for it and what follows a redirection.

    Of a pipeline the first command is the program, and the others read what it prints.
    """
    commands: list[list[_Word]] = [[]]
    piped = redirected = False
    position = 0
    while match := _TOKEN.match(run, position):
        position = match.end()
        if match["operator"]:
            if match["operator"] == "|":
                piped = True
            elif commands[-1]:
                commands.append([])
                piped = False
            redirected = False
        elif match["redirect"]:
            redirected = True
        elif not piped and not redirected:
            word = _Word(match["word"], match.start("word"), match.end("word"))
            if commands[-1] or not _ASSIGNMENT.match(word.text):
                commands[-1].append(word)
    return next((command for command in reversed(commands) if command), [])
