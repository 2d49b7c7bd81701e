"""The last report of each project, kept in the cache, so that a new session starts with marks.

A report is shown again only for files whose text is still the one that was profiled; its owner checks that.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.fields import RecordMismatch, to_json
from hipscope.server.reports.schema.profile import Report


def save_report(key: Path, report: Report) -> None:
    """Keep a `hipscope.profile/1` record as the last of that project. A full disk only loses the convenience."""
    try:
        write_atomically(_path(key), json.dumps(to_json(report)).encode())
    except OSError:
        return


def load_report(key: Path) -> Report | None:
    """The last report of that project, or None when there is none that can be read."""
    try:
        return read_report(json.loads(_path(key).read_bytes()), str(_path(key)))
    except (OSError, ValueError, RecordMismatch):  # one of another version is made again, like any cache
        return None


def _path(key: Path) -> Path:
    return cache_directory() / "reports" / f"{hashlib.sha256(str(key).encode()).hexdigest()[:24]}.json"
