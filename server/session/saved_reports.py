"""The last report of each project, kept in the cache, so that a new session starts with marks.

A report is shown again only for files whose text is still the one that was profiled; its owner checks that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.server.reports.profile_reader import Report, read_report


def save_report(key: Path, report: Mapping[str, Any]) -> None:
    """Keep a `hipscope.profile/1` object as the last of that project. A full disk only loses the convenience."""
    try:
        write_atomically(_path(key), json.dumps(report).encode())
    except OSError:
        return


def load_report(key: Path) -> Report | None:
    """The last report of that project, or None when there is none that can be read."""
    try:
        return read_report(json.loads(_path(key).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(key: Path) -> Path:
    return cache_directory() / "reports" / f"{hashlib.sha256(str(key).encode()).hexdigest()[:24]}.json"
