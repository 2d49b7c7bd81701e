"""GitLab's code quality: an issue for each finding, defect and program that failed, from the results of the SARIF log.

GitLab takes places below the repository only: what stands elsewhere has no issue.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.exchange.sarif import sarif_log

_SEVERITY = {"error": "critical", "warning": "major", "note": "minor"}


def render_code_quality(
    report: object, texts: SourceTexts, version: str, root: Path, named: Path | None = None
) -> str:
    """The JSON list of issues."""
    (run,) = sarif_log(report, texts, version, root, named)["runs"]
    issues = [issue for result in run["results"] if (issue := _issue(result)) is not None]
    for note in run["invocations"][0].get("toolExecutionNotifications", ()):
        text = note["message"]["text"]
        program = text.partition(": ")[0]
        if not (root / program).is_file():
            program = "hipscope.toml"
        name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
        issues.append(_entry(text, "hipscope/failed", name, "blocker", program, 1))
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(result: dict[str, Any]) -> dict[str, Any] | None:
    place = result["locations"][0].get("physicalLocation")
    if place is None or "uriBaseId" not in place["artifactLocation"]:
        return None
    (fingerprint,) = result["partialFingerprints"].values()
    return _entry(
        result["message"]["text"],
        result["ruleId"],
        fingerprint,
        _SEVERITY[result["level"]],
        unquote(place["artifactLocation"]["uri"]),
        place["region"]["startLine"],
    )


def _entry(text: str, rule: str, name: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "description": text,
        "check_name": rule,
        "fingerprint": name,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line}},
    }
