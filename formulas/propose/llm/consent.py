"""Leave to send source text to a model: asked once for each project and destination.

The record lies in the user's own directory, not in the project: a repository must not be able to bring its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.directories import state_directory, write_atomically
from hipscope.formulas.propose.llm.model_settings import ModelSettings


class ConsentNeeded(UsageError):
    """Nothing was sent, because the user has not agreed to it yet. `settings` says where it would go."""

    def __init__(self, root: Path, settings: ModelSettings) -> None:
        key = f", with the key in {settings.key_env}" if settings.key_env else ""
        super().__init__(
            f"{root.name}: kernel source and profile would be sent to {settings.destination}{key}; nothing was sent",
            "see it with `hipscope prompt`, agree once with --yes-send",
        )
        self.settings = settings


def require_consent(
    root: Path, settings: ModelSettings, *, yes_send: bool = False, env: Mapping[str, str] = os.environ
) -> None:
    """Return if sending is agreed to, recording it when `yes_send` says so now. Raises `ConsentNeeded` else."""
    if yes_send:
        give_consent(root, settings, env)
    elif not has_consent(root, settings, env):
        raise ConsentNeeded(root, settings)


def has_consent(root: Path, settings: ModelSettings, env: Mapping[str, str] = os.environ) -> bool:
    """Whether the user agreed to send this project to this model, at this address, with this key."""
    return _record(root, settings, env).is_file()


def give_consent(root: Path, settings: ModelSettings, env: Mapping[str, str] = os.environ) -> None:
    """Remember that the user agreed."""
    write_atomically(_record(root, settings, env), json.dumps(_terms(root, settings), indent=1).encode())


def withdraw_consent(root: Path, settings: ModelSettings, env: Mapping[str, str] = os.environ) -> None:
    """Forget it again."""
    _record(root, settings, env).unlink(missing_ok=True)


def _record(root: Path, settings: ModelSettings, env: Mapping[str, str]) -> Path:
    digest = hashlib.sha256(json.dumps(_terms(root, settings), sort_keys=True).encode()).hexdigest()
    return state_directory(env) / "consent" / f"{digest[:32]}.json"


def _terms(root: Path, settings: ModelSettings) -> dict[str, str | None]:
    return {
        "project": str(root.resolve()),
        "model": settings.model,
        "api_base": settings.api_base,
        "key_env": settings.key_env,
    }
