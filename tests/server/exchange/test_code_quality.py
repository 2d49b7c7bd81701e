"""GitLab's code quality: an issue for each finding at its line, and none for what stands outside of the repository."""

from __future__ import annotations

import json
from pathlib import Path

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.exchange.code_quality import render_code_quality
from hipscope.server.reports.schema.profile import Report
from tests.server.conftest import FILE, HOT_LINE, PROGRAM


def test_a_finding_is_an_issue_at_its_line(report: Report) -> None:
    texts = SourceTexts({Path(FILE): PROGRAM.encode()})
    issues = json.loads(render_code_quality(report, texts, "1.0", Path("/project")))
    (issue,) = issues
    assert issue["location"] == {"path": "transpose.hip", "lines": {"begin": HOT_LINE}}
    assert issue["check_name"] == "bankConflict"
    assert issue["severity"] in ("major", "minor")
    assert len(issue["fingerprint"]) == 32
    assert json.loads(render_code_quality(report, texts, "1.0", Path("/elsewhere"))) == []
