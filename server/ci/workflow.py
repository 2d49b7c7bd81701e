"""What a workflow says: repository, commits, pull request, whether it is one of a fork, where results go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import UsageError


@dataclass(frozen=True)
class Workflow:
    """One run. `pull` is the number of the pull request, 0 without one; `reads_only` for one of a fork."""

    repository: str
    server: str
    api: str
    pull: int
    reads_only: bool
    base: str
    head: str
    branch: str
    results: Path
    summary: Path | None

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Workflow:
        """That of these variables. Raises UsageError for what is missing or is no event."""
        event = _event(env.get("GITHUB_EVENT_PATH", ""))
        pull = _object(event.get("pull_request"))
        base, head = _object(pull.get("base")), _object(pull.get("head"))
        repository = env.get("GITHUB_REPOSITORY", "")
        of_fork = bool(pull) and _object(head.get("repo")).get("full_name") != repository
        number = env.get("HIPSCOPE_PULL") or pull.get("number") or 0
        results = env.get("HIPSCOPE_RESULTS") or ""
        if not results:
            raise UsageError("HIPSCOPE_RESULTS names no folder", "the action sets it to its input `results`")
        summary = env.get("GITHUB_STEP_SUMMARY")
        return cls(
            repository=repository,
            server=env.get("GITHUB_SERVER_URL") or "https://github.com",
            api=env.get("GITHUB_API_URL") or "https://api.github.com",
            pull=_number(number),
            reads_only=of_fork,
            base=env.get("HIPSCOPE_BASE") or str(base.get("sha") or event.get("before") or "HEAD~1"),
            head=env.get("HIPSCOPE_HEAD") or "HEAD",
            branch=env.get("HIPSCOPE_BRANCH") or str(head.get("ref") or env.get("GITHUB_REF_NAME") or ""),
            results=Path(results),
            summary=Path(summary) if summary else None,
        )


def _event(path: str) -> Mapping[str, Any]:
    if not path:
        return {}
    try:
        return _object(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: the event of this workflow cannot be read: {error}") from None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise UsageError(f"{str(value)[:40]!r} is no number of a pull request") from None
