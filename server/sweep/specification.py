"""What a sweep is to do: a TOML file with programs, inputs, devices, kernels and rules, and the tasks that it means."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.python_packages import hipscope_version

_MOST_TASKS = 100_000


class Specification(BaseModel):
    """The keys of the file; a list that is left out is one of what the project says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    programs: Annotated[
        list[str], Field(min_length=1, description="Sources, or folders with `hipscope.toml`.")
    ]
    inputs: list[list[str]] = Field([[]], description="Arguments of the program, one list for each run.")
    devices: list[str | None] = Field([None], description="Modelled devices.")
    kernels: list[str | None] = Field([None], description="Only these kernels.")
    rules: list[str | None] = Field(
        [None], description="Formulas to look for a rewrite of; left out: programs are only profiled."
    )
    backend: str = "emulator"
    folder: str | None = Field(
        None, description="Sent to the workers; left out: they read the programs under the same paths."
    )


@dataclass(frozen=True)
class Sweep:
    """The tasks of a specification in its order, and the folder that the workers get."""

    tasks: tuple[SweepTask, ...]
    folder: Path | None


@dataclass(frozen=True)
class SweepTask:
    """One profile, or one search for a rewrite where a rule is named. `program` is an absolute path, or one below the
    files that are sent, whose digest `files` is.
    """

    program: str
    arguments: tuple[str, ...]
    device: str | None
    kernel: str | None
    rule: str | None
    backend: str
    files: str = ""

    @property
    def key(self) -> str:
        """Its name: the same for the same task and version. What it reads is checked where the result is kept."""
        return sha256(dumps([hipscope_version(), asdict(self)], sort_keys=True).encode()).hexdigest()[:32]


def read_sweep(file: Path) -> Sweep:
    """What a specification asks for. Raises UsageError."""
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        asked = Specification.model_validate(data)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{file}: `{where}`: {first['msg']}", "see docs/sweep.md") from None
    folder = None if asked.folder is None else (file.parent / asked.folder).resolve()
    if folder is not None and not folder.is_dir():
        raise UsageError(f"{file}: {folder} is no folder")
    programs = [str((file.parent / program).resolve()) for program in asked.programs]
    for program in programs:
        if not Path(program).exists():
            raise UsageError(f"{file}: {program} is not there")
        if folder is not None and not Path(program).is_relative_to(folder):
            raise UsageError(f"{file}: {program} is not in {folder}, which is what the workers get")
    product = itertools.product(programs, asked.inputs, asked.devices, asked.kernels, asked.rules)
    tasks = [
        SweepTask(program, tuple(arguments), device, kernel, rule, asked.backend)
        for program, arguments, device, kernel, rule in itertools.islice(product, _MOST_TASKS + 1)
    ]
    if len(tasks) > _MOST_TASKS:
        raise UsageError(f"{file}: more than {_MOST_TASKS} tasks", "make several sweeps of it")
    return Sweep(tuple(dict.fromkeys(tasks)), folder)
