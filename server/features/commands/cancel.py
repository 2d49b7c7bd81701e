"""`hipscope.server.cancel`: stop the job of a document's project, or all jobs."""

from __future__ import annotations

from hipscope.server.session.language_server import HipServer
from hipscope.server.session.project_job import Answer, key_of


def cancel(ls: HipServer, uri: str | None) -> Answer:
    """Stop the job of that document's project, every job without a document; how many there were."""
    key = key_of(ls, uri) if uri is not None else None
    return {"cancelled": ls.jobs.cancel(str(key) if key else None)}
