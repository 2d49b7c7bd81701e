"""`hipscope.server.check`: run a project under the sanitizers and show their reports."""

from __future__ import annotations

from hipscope.server.reports.report_reader import read_check
from hipscope.server.session.check_problems import check_problems
from hipscope.server.session.language_server import HipServer, disk_text
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.project_job import Answer, Show, job_request, needed_key, run_job, worker_report


async def check(ls: HipServer, uri: str, show: Show) -> Answer:
    """Run the project of a document under the sanitizers and `show` their reports."""
    key = needed_key(ls, uri)

    async def work() -> Answer:
        async with progress_bar(ls, f"Checking {key.name}", lambda: ls.jobs.cancel(str(key))) as progress:
            request = job_request(ls, "check", key, uri)
            found = await worker_report(ls, request, progress, read_check)
        ls.store.keep_checks(
            str(key), check_problems(found), lambda f: request.overlays.get(f) or disk_text(f)
        )
        count = len(found.reports) + len(found.notes)
        message = f"{count} {'defect' if count == 1 else 'defects'} found" if count else "no defect found"
        if found.failure:
            message += f"; {found.failure}"
        ls.tell(f"hipscope check: {message}.")
        return {"status": "done", "reports": count, "failure": found.failure, "message": message}

    return await run_job(ls, key, "check", work(), show, asked=True)
