"""What the user said about building a folder's programs as its build files say: kept, so that it is asked once.

Lies in the user's state directory, not in the project. A `hipscope.toml` comes before all that is said here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Literal, get_args

from hipscope.analysis.system.directories import state_directory, write_atomically

BuildChoice = Literal["use", "edit", "alone", "none"]


def choice_of(folder: Path) -> BuildChoice | None:
    """What was said of a folder; None where nothing was asked."""
    with contextlib.suppress(OSError, ValueError):
        said = _record(folder).read_text(encoding="utf-8").strip()
        return next((choice for choice in get_args(BuildChoice) if choice == said), None)
    return None


def keep_choice(folder: Path, choice: BuildChoice) -> None:
    """Remember it. A full disk only has it asked again."""
    with contextlib.suppress(OSError):
        write_atomically(_record(folder), f"{choice}\n".encode())


def _record(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return state_directory() / "builds" / name
