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
from hipscope.server.session.known_profiles import SOURCES, settings_files

BuildChoice = Literal["use", "edit", "alone", "none"]


def home_of(key: Path, folders: tuple[Path, ...]) -> Path | None:
    """The folder of the build files that a source belongs to: the nearest around it; None where there are none.

    Up to the workspace's folder or the repository's, and not beyond a `hipscope.toml`, which says more.
    """
    from hipscope.analysis.build_files.proposal import build_files

    if key.suffix not in SOURCES:
        return None
    for settings in settings_files(key, folders):
        if settings.exists():
            return None
        if build_files(settings.parent):
            return settings.parent
    return None


def choice_of(folder: Path) -> BuildChoice | None:
    """What was said of a folder; None where nothing was asked."""
    with contextlib.suppress(OSError, ValueError):
        said = _record(folder).read_text(encoding="utf-8").strip()
        return next((choice for choice in get_args(BuildChoice) if choice == said), None)
    return None


def is_built_alone(key: Path, folders: tuple[Path, ...]) -> bool:
    """Whether the user wants a source compiled by itself, whatever the build files say."""
    return key.suffix in SOURCES and any(
        choice_of(settings.parent) == "alone" for settings in settings_files(key, folders)
    )


def keep_choice(folder: Path, choice: BuildChoice) -> None:
    """Remember it. A full disk only has it asked again."""
    with contextlib.suppress(OSError):
        write_atomically(_record(folder), f"{choice}\n".encode())


def _record(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return state_directory() / "builds" / name
