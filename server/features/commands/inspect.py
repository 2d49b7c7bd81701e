"""What can be said of a program's code without a run, asked for as soon as a file is opened or saved.

Takes a session and a document, keeps the notes and shows them. Needs leave to build, and never asks for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.jobs.messages import JobRequest
from hipscope.server.reports.report_reader import read_resources
from hipscope.server.reports.schema.fields import RecordMismatch
from hipscope.server.session.language_server import HipServer, disk_text
from hipscope.server.session.permission import is_permitted
from hipscope.server.session.project_job import Show, job_request, key_of


async def inspect(ls: HipServer, uri: str, show: Show) -> None:
    """Look at the code of a document's program and `show` what is noted. A newer request replaces an older."""
    key = key_of(ls, uri)
    if key is None or not is_permitted(ls, key):
        return
    request = job_request(ls, "inspect", key, uri)
    with contextlib.suppress(JobStopped, JobFailed):
        data = await ls.inspections.run(str(key), run_worker(request, lambda _message, _share: None))
        keep_inspected(ls, key, request, data)
        await show(ls, key)


def keep_inspected(ls: HipServer, key: Path, request: JobRequest, data: Mapping[str, Any]) -> None:
    """Keep the notes of a worker's report; one of another version is none."""
    with contextlib.suppress(RecordMismatch):
        notes = [note for source in read_resources(data).sources for note in source.notes]
        ls.store.keep_notes(str(key), notes, lambda f: request.overlays.get(f) or disk_text(f))
