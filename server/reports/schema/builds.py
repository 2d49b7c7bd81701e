"""What the build files of a directory say of its programs: the answer of `hipscope/builds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ProposedBuild:
    """A program with its commands; `build` None: one source that needs no command.

    `origin` names what says so, `arguments` are those that `run` gives the program, `settings` is the text of a
    `hipscope.toml` that says the same.
    """

    origin: str
    program: str
    build: str | None
    run: str | None
    arguments: tuple[str, ...]
    settings: str


@dataclass(frozen=True, slots=True)
class BuildsReport:
    """The programs that the build files of `directory` make, the likeliest first, and why tools refuse some files."""

    TAG: ClassVar = ("schema", "hipscope.builds/1")

    directory: str
    builds: tuple[ProposedBuild, ...]
    refused: tuple[str, ...]
