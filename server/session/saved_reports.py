"""The last reports of each project, kept in the cache by the digest of their inputs, so that a new session has marks.

A report is shown again only where all its inputs are still those that were profiled; its owner checks that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.server.reports.isa_store import isa_beside, report_file, report_folder
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.fields import RecordMismatch, to_json
from hipscope.server.reports.schema.profile import Inputs, Report
from hipscope.server.session.known_profiles import KEPT

_PROGRAMS = 8  # kept for a header: programs that were profiled with it


def save_report(key: Path, report: Report) -> None:
    """Keep a `hipscope.profile/2` record among the last of that project. A full disk only loses the convenience."""
    with contextlib.suppress(OSError):
        write_atomically(report_file(key, report.inputs), json.dumps(to_json(report)).encode())
        for old in _newest_first(key)[KEPT:]:
            old.unlink(missing_ok=True)
            isa_beside(old).unlink(missing_ok=True)
        for file in {*report.sources, *report.files()} - {str(key)}:
            _add_program(file, key)


def load_report(key: Path, inputs: Inputs) -> Report | None:
    """The report of that project with exactly these inputs, or None when there is none that can be read."""
    return _read(report_file(key, inputs))


def load_reports(key: Path) -> Iterator[Report]:
    """The last reports of that project, newest first; those that cannot be read are left out."""
    return (report for path in _newest_first(key) if (report := _read(path)) is not None)


def programs_with(file: str) -> list[Path]:
    """The programs that were profiled with that source, newest first; those that are gone are left out."""
    return [path for name in _programs(file) if (path := Path(name)).exists()]


def _add_program(file: str, key: Path) -> None:
    names = [str(key), *(name for name in _programs(file) if name != str(key))]
    write_atomically(_index(file), json.dumps(names[:_PROGRAMS]).encode())


def _programs(file: str) -> list[str]:
    try:
        names = json.loads(_index(file).read_bytes())
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _index(file: str) -> Path:
    return (
        cache_directory() / "reports" / "programs" / f"{hashlib.sha256(file.encode()).hexdigest()[:24]}.json"
    )


def _read(path: Path) -> Report | None:
    try:
        return read_report(json.loads(path.read_bytes()), str(path))
    except (OSError, ValueError, RecordMismatch):  # one of another version is made again, like any cache
        return None


def _newest_first(key: Path) -> list[Path]:
    try:
        return sorted(report_folder(key).glob("*.json"), key=lambda p: p.stat().st_mtime_ns, reverse=True)
    except OSError:
        return []
