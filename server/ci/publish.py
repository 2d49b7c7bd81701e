"""The second step: the job summary, one comment on the pull request that is updated in place, a pull request of ours.

Reads what `measure` wrote as data, runs nothing of the repository. A pull request of a fork is only read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.server.ci.comment import MARK, comparison_comment
from hipscope.server.ci.github import GitHub
from hipscope.server.ci.measure import COMPARED, EDITED
from hipscope.server.ci.propose import propose
from hipscope.server.ci.workflow import Workflow
from hipscope.server.reports.schema.compare import CompareReport
from hipscope.server.reports.schema.fields import read_record
from hipscope.server.reports.schema.optimize import Optimization

T = TypeVar("T")

_LARGEST = 64 << 20  # bytes of a result


def publish(flow: Workflow, env: Mapping[str, str]) -> list[str]:
    """Tell what was measured; a sentence for each thing that was done. Raises HipscopeError."""
    report = _read(flow.results / COMPARED, CompareReport)
    text = comparison_comment(report)
    if flow.summary is not None:
        with flow.summary.open("a", encoding="utf-8") as file:
            file.write(text)
    if flow.reads_only:
        return ["a pull request of a fork: nothing is written but the job's summary"]
    token = env.get("HIPSCOPE_TOKEN", "")
    if not token:
        return ["no token: nothing is written but the job's summary"]
    hub = GitHub(flow.api, token)
    done = [tell(hub, flow, text)] if flow.pull else []
    edited = flow.results / EDITED
    if env.get("HIPSCOPE_OPTIMIZE") == "true" and edited.is_file():
        program = _text(flow.results / "program") if (flow.results / "program").is_file() else "."
        done.append(
            propose(hub, flow, _read(edited, Optimization), program, env.get("HIPSCOPE_REMOTE"), token)
        )
    return done


def tell(hub: GitHub, flow: Workflow, text: str) -> str:
    """Write our comment on the pull request, in place of the one that is there. Raises GitHubRefused."""
    issue = f"/repos/{flow.repository}/issues/{flow.pull}/comments"
    own = next((c for c in hub.all(issue) if _is_ours(c)), None)
    if own is None:
        hub.call("POST", issue, {"body": text})
        return f"commented on #{flow.pull}"
    hub.call("PATCH", f"/repos/{flow.repository}/issues/comments/{int(own['id'])}", {"body": text})
    return f"updated the comment on #{flow.pull}"


def _is_ours(comment: Any) -> bool:
    """A comment of an app with our mark; a person may write the mark, too."""
    user = comment.get("user") or {}
    return str(comment.get("body") or "").startswith(MARK) and user.get("type") == "Bot"


def _read(path: Path, kind: type[T]) -> T:
    """A record that was measured. Raises HipscopeError."""
    try:
        data = json.loads(_text(path))
    except ValueError:
        raise UsageError(f"{path} is no JSON") from None
    if isinstance(data, dict) and data.get("schema") == "hipscope.failure/1":
        raise HipscopeError(f"nothing was compared: {str(data.get('error', {}).get('message', ''))[:300]}")
    return read_record(kind, data, str(path))


def _text(path: Path) -> str:
    """A result; a link may lead anywhere, and is none."""
    if path.is_symlink() or not path.is_file():
        raise UsageError(f"{path} is not there", "the step before this one has failed")
    if path.stat().st_size > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST} bytes")
    return path.read_text(encoding="utf-8")
