"""A trained program as a file: `hipscope.llm-program/1`, JSON that people can read and review.

It holds instructions and demonstrations of the program's steps, and how it was trained and scored; no model, no
address and no key, and nothing that is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.directories import write_atomically
from hipscope.formulas.propose.llm.program import Demonstration, ProgramState


class Scores(BaseModel):
    """Mean of verdict times speed-up over the tasks of a list, by task: what training is for."""

    model_config = ConfigDict(frozen=True)

    mean: float
    tasks: Mapping[str, float] = Field(default_factory=dict)


class ProgramFile(BaseModel):
    """What training made of the rewriter."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    schema_name: Literal["hipscope.llm-program/1"] = Field("hipscope.llm-program/1", alias="schema")
    version: str
    model: str
    optimizer: str
    steps: Literal["together", "apart"]
    instructions: Mapping[str, str] = Field(default_factory=dict)
    demonstrations: Mapping[str, tuple[Demonstration, ...]] = Field(default_factory=dict)
    trained_on: tuple[str, ...] = ()
    before: Scores
    after: Scores

    @property
    def state(self) -> ProgramState:
        """What the rewriter takes of it."""
        return ProgramState(self.instructions, self.demonstrations)


def read_program(path: Path) -> ProgramFile:
    """A program that `hipscope llm train` wrote. Raises `UsageError`."""
    try:
        return ProgramFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}", "llm.program names a file of `hipscope llm train`"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise UsageError(
            f"{path}: no trained program: {where}: {first['msg']}", "write one with `hipscope llm train`"
        ) from error


def write_program(path: Path, program: ProgramFile) -> None:
    """Write it, whole or not at all."""
    write_atomically(path, program.model_dump_json(indent=1, by_alias=True).encode() + b"\n")
