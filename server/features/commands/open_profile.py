"""`hipscope.server.openProfile`: put the marks of a capture, or of a saved report, on the open files."""

from __future__ import annotations

from pathlib import Path

from hipscope.server.jobs.messages import JobRequest
from hipscope.server.reports.report_reader import read_report
from hipscope.server.session.language_server import HipServer, disk_text, set_aside_what_stays
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.project_job import Answer, Show, run_job, worker_report


async def open_profile(ls: HipServer, path: Path, show: Show) -> Answer:
    """Read what is at a path in a worker and `show` it. The next profile of the same sources takes its place."""
    request = JobRequest(
        kind="open", target=str(path), source_roots=tuple(str(folder) for folder in ls.folders())
    )

    async def work() -> Answer:
        async with progress_bar(ls, f"Opening {path.name}", lambda: ls.jobs.cancel(str(path))) as progress:
            report = await worker_report(ls, request, progress, read_report)
        profiled = ls.store.update(
            str(path), report, lambda f: disk_text(report.copies.get(f, f)), opened=True
        )
        set_aside_what_stays()
        left_out = [c for c in report.captures if not c.read]
        for capture in left_out:
            ls.log(f"hipscope: not read: {capture.path}: {capture.why}")
        for note in report.notes:
            ls.log(f"hipscope: {note}")
        return {
            "status": "done",
            "provenance": report.provenance,
            "kernels": len(report.kernels),
            "findings": len(report.findings),
            "files": sorted(profiled.texts),
            "not_read": [c.path for c in left_out],
            "partial": report.partial,
        }

    return await run_job(ls, path, "open", work(), show, asked=True)
