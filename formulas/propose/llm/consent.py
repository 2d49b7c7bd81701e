"""Leave to send source text to a model: asked once for each project and destination.

The record lies in the user's own directory, not in the project: a repository must not be able to bring its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.directories import state_directory, write_atomically
from hipscope.formulas.propose.llm.model_settings import ModelSettings


class Consent(BaseModel):
    """One project that may be sent to one model, at this address, with the key in that variable."""

    model_config = ConfigDict(frozen=True)

    project: str
    model: str
    api_base: str | None
    key_env: str | None


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
    write_atomically(_record(root, settings, env), _terms(root, settings).model_dump_json(indent=1).encode())


def given_consents(root: Path, env: Mapping[str, str] = os.environ) -> tuple[Consent, ...]:
    """What the user agreed to for this project, for whatever model."""
    found = []
    for path in sorted(_home(env).glob("*.json")):
        with contextlib.suppress(OSError, ValidationError):
            consent = Consent.model_validate_json(path.read_bytes())
            if consent.project == str(root.resolve()):
                found.append(consent)
    return tuple(found)


def withdraw_consents(root: Path, env: Mapping[str, str] = os.environ) -> None:
    """Forget all of it."""
    for consent in given_consents(root, env):
        _file(consent, env).unlink(missing_ok=True)


def _record(root: Path, settings: ModelSettings, env: Mapping[str, str]) -> Path:
    return _file(_terms(root, settings), env)


def _file(consent: Consent, env: Mapping[str, str]) -> Path:
    digest = hashlib.sha256(json.dumps(consent.model_dump(), sort_keys=True).encode()).hexdigest()
    return _home(env) / f"{digest[:32]}.json"


def _home(env: Mapping[str, str]) -> Path:
    return state_directory(env) / "consent"


def _terms(root: Path, settings: ModelSettings) -> Consent:
    return Consent(
        project=str(root.resolve()),
        model=settings.model,
        api_base=settings.api_base,
        key_env=settings.key_env,
    )
