"""The folders whose programs an editor may have built and run: what a person has agreed to, once for each folder.

A build runs whatever the repository says. The list lies in the user's own directory, not in the project: a repository
must not be able to bring its own.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from hipscope.analysis.system.directories import state_directory, write_atomically


def is_allowed(folder: Path, env: Mapping[str, str] = os.environ) -> bool:
    """Whether a folder, or one that it lies in, is allowed."""
    real = folder.resolve()
    return any(_record(place, env).is_file() for place in (real, *real.parents))


def allow_folder(folder: Path, env: Mapping[str, str] = os.environ) -> None:
    """Remember that all that lies in a folder may be built and run."""
    real = folder.resolve()
    write_atomically(_record(real, env), os.fsencode(real) + b"\n")


def allowed_folders(env: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """All of them."""
    found = (Path(os.fsdecode(file.read_bytes().rstrip(b"\n"))) for file in _home(env).glob("*"))
    return tuple(sorted(found))


def forbid_folder(folder: Path, env: Mapping[str, str] = os.environ) -> bool:
    """Take it back for exactly this folder; False when it was not allowed by itself."""
    record = _record(folder.resolve(), env)
    known = record.is_file()
    record.unlink(missing_ok=True)
    return known


def _record(folder: Path, env: Mapping[str, str]) -> Path:
    return _home(env) / hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]


def _home(env: Mapping[str, str]) -> Path:
    return state_directory(env) / "allowed"
