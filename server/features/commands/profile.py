"""`hipscope.server.profile`: build and profile a project, show it, and prepare rewrites while nobody waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hipscope.server.features.commands.build_choice import WHEN_SAVED, choose_build, settle_build
from hipscope.server.features.commands.inspect import keep_inspected
from hipscope.server.history.baseline import baseline, checked_out, keep_profile
from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.jobs.machine_queue import turn
from hipscope.server.jobs.messages import JobError
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.profile import Report
from hipscope.server.session.language_server import (
    HipServer,
    dirty_texts,
    disk_text,
    path_of,
    set_aside_what_stays,
    show_file,
)
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.project_job import (
    PREPARING,
    Answer,
    Show,
    failure_line,
    job_request,
    needed_key,
    run_job,
    tell_failed,
    turns_folder,
    worker_report,
)
from hipscope.server.session.saved_reports import save_report

_TOLD_WITHIN = 40  # looks, 50 ms apart, for the editor to tell of an edit


async def profile(ls: HipServer, uri: str, show: Show, *, asked: bool, part: bool = False) -> Answer:
    """Build and profile the project of a document and `show` the result. `asked`: the user waits for this one.

    A `part` is no program by itself: nothing is done where nobody says how its program is built.
    """
    key = needed_key(ls, uri)
    if not await settle_build(ls, key, uri, asked=asked):
        return {"status": "asked", "message": WHEN_SAVED}
    key = needed_key(ls, uri)
    if part and key.is_file():
        return {"status": "idle"}

    async def work() -> Answer:
        async with progress_bar(ls, f"Profiling {key.name}", lambda: ls.jobs.cancel(str(key))) as progress:
            request = job_request(ls, "profile", key, uri)
            # Before the texts can change: a commit or checkout while the job runs is not what it is of.
            at = asyncio.create_task(asyncio.to_thread(checked_out, key))

            async def shown() -> None:
                await show(ls, key)

            def inspected(data: Mapping[str, Any]) -> None:
                keep_inspected(ls, key, request, data)
                ls.in_background(shown())

            report = await worker_report(ls, request, progress, read_report, inspected)
        ls.store.update(str(key), report, lambda f: request.overlays.get(f) or disk_text(f))
        save_report(key, report)
        commit, dirty = await at
        ls.in_background(hold_against(ls, key, report, show, (commit, dirty or bool(request.overlays))))
        set_aside_what_stays()
        if (why := report.failure()) is not None:
            line = f"hipscope: {failure_line(ls, key, why, None)}. What was recorded until then is shown."
            failed = "ProgramFailed" if report.program.exit_code else "Stopped"
            printed = "" if report.faults else report.program.output  # a fault is all that is to be said
            tell_failed(ls, key, line, JobError(why, 4, failure=failed, output=printed))
        if report.program.build_note is not None and not ls.can_ask:
            ls.tell_once(f"hipscope: {key.name}: {report.program.build_note}.")
        if report.source_note:
            ls.log(f"hipscope: {report.source_note}")
        if report.partial:
            ls.log(f"hipscope: the profile of {key.name} is partial: {report.partial}")
        for fault in report.faults:
            if fault.refused:
                ls.log(f"hipscope: launch refused of {fault.kernel}: {fault.message}")
        return {
            "status": "done",
            "failure": why,
            "kernels": len(report.kernels),
            "findings": len(report.findings),
            "partial": report.partial,
        }

    answer = await run_job(ls, key, "profile", work(), show, asked=asked)
    if answer.get("findings") and ls.jobs.idle:
        ls.in_background(_prepare(ls, key, uri))
    return answer


async def profile_edited(ls: HipServer, uri: str, show: Show, holds: Callable[[str], bool]) -> None:
    """Profile a source, saved or not, once the editor has told of an edit: `holds` sees it in the text."""
    for _ in range(_TOLD_WITHIN):
        if holds(ls.text(path_of(uri) or "") or ""):
            await profile(ls, uri, show, asked=True)
            return
        await asyncio.sleep(0.05)


async def hold_against(
    ls: HipServer, key: Path, report: Report, show: Show, new: tuple[str, bool] | None = None
) -> None:
    """Find what a report is compared with, and show that. A `new` one becomes a row of the history: its commit, and
    whether its files differed from it.
    """
    unsaved = bool(dirty_texts(list(ls.open_documents())))
    commit, dirty = await asyncio.to_thread(checked_out, key) if new is None else new
    at = commit, dirty or (new is None and unsaved)
    found = await asyncio.to_thread(baseline, key, report, at)
    if new is not None:
        await asyncio.to_thread(keep_profile, key, report, at)
    ls.baselines[str(key)] = (report, found)
    if found is not None:
        await show(ls, key)


async def choose_again(ls: HipServer, uri: str, show: Show) -> Answer:
    """Ask anew how a document's program is built, and profile it so; settings that say it are shown instead."""
    key = needed_key(ls, uri)
    settings = key / "hipscope.toml"
    if key.is_dir() and settings.is_file():
        await show_file(ls, settings)
        return {"status": "done", "message": f"{settings.name} says how it is built"}
    if not await choose_build(ls, key, uri):
        return {"status": "asked", "message": WHEN_SAVED}
    return await profile(ls, uri, show, asked=True)


async def _prepare(ls: HipServer, key: Path, uri: str) -> None:
    """Make what rewrites will need, and a worker for them, while nobody waits for anything.

    Any other job ends it, and nobody hears of it.
    """
    with contextlib.suppress(JobStopped, JobFailed):
        await ls.jobs.run(PREPARING, _prepare_idly(ls, key, uri))
        await ls.spare.keep()


async def _prepare_idly(ls: HipServer, key: Path, uri: str) -> None:
    async with turn(turns_folder(), 1, lambda _before: None, idle=True):
        await run_worker(job_request(ls, "prepare", key, uri), lambda _message, _share: None)
