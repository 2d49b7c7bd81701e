"""One job of a project: its request, its worker with a progress bar, and how its end is told.

Takes a session and a document, gives the worker's report or a small answer; what the report means is its caller's.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.analysis.run import Progress
from hipscope.analysis.source.texts import ByteColumn
from hipscope.analysis.system.directories import cache_directory
from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.jobs.machine_queue import turn
from hipscope.server.jobs.messages import JobError, JobKind, JobRequest
from hipscope.server.reports.schema.fields import RecordMismatch
from hipscope.server.session.build_choices import is_built_alone
from hipscope.server.session.gpu_sources import is_gpu_source
from hipscope.server.session.known_profiles import (
    HEADERS,
    SOURCES,
    Problem,
    has_bench,
    project_key,
    settings_files,
)
from hipscope.server.session.language_server import HipServer, dirty_texts, path_of
from hipscope.server.session.permission import NOT_ALLOWED, may_run
from hipscope.server.session.saved_reports import programs_with

T = TypeVar("T")

PREPARING = "preparing"
"""The key of the job that prepares rewrites: there is one for all projects."""

_MAIN = re.compile(r"\bmain\s*\(")
_PLACE = re.compile(r"(?P<path>/[^:\n]+(?::\d+){0,2}): (?=.)")
_PROGRAM = re.compile(r"^the program\b")
LINES_SHOWN = 3  # of what a program printed last
_LONGEST_SHOWN = 200  # characters of such a line

_STATES: Mapping[JobKind, str] = {
    "profile": "profiling",
    "check": "checking",
    "optimize": "optimizing",
    "inspect": "looking at",
    "prepare": "preparing",
    "open": "profiling",
}

Answer = dict[str, Any]
Show = Callable[[HipServer, Path], Awaitable[None]]


def key_of(ls: HipServer, uri: str) -> Path | None:
    """The project that a document belongs to: for a part of a program, the one that was profiled with it.

    A part is a header, or a source without `main`, that has no bench. Profiles of earlier sessions count.
    """
    file = path_of(uri)
    if file is None:
        return None
    key = project_key(Path(file), ls.folders())
    if str(key) != file or not _is_part(key, ls.text(file)):
        return key
    owner = ls.store.owner(file)
    return Path(owner) if owner is not None else next(iter(programs_with(file)), key)


def is_program(ls: HipServer, file: Path) -> bool:
    """Whether a source is a GPU program by itself: a save may start it."""
    text = ls.text(str(file))
    if text is None or not is_gpu_source(file, text, ls.text):
        return False
    return bool(_MAIN.search(text)) or has_bench(file, text)


def _is_part(path: Path, text: str | None) -> bool:
    """Whether a file is no program by itself: there is nothing in it that could be run."""
    if text is None or has_bench(path, text):
        return False
    return path.suffix in HEADERS or not _MAIN.search(text)


def needed_key(ls: HipServer, uri: str) -> Path:
    """The same for a command, which has to name a file: else JsonRpcInvalidParams."""
    key = key_of(ls, uri)
    if key is None:
        raise JsonRpcInvalidParams(f"{uri} is not a file")
    return key


def job_request(ls: HipServer, kind: JobKind, key: Path, uri: str) -> JobRequest:
    """A request with the editor's settings and its unsaved texts."""
    settings = ls.settings_of(key)
    request = JobRequest(
        kind=kind,
        target=str(key),
        file=path_of(uri),
        program_args=ls.program_arguments(key),
        alone=is_built_alone(key, ls.folders()),
        backend=settings.backend,
        device=settings.device,
        arch=settings.arch,
        time_budget_s=settings.time_budget,
        overlays=dirty_texts(list(ls.open_documents())),
    )
    if kind != "optimize":
        return request
    return replace(request, rewriter=settings.rewriter, stored_keys=ls.stored_keys)


def turns_folder() -> Path:
    """Where the heavy jobs of all editors of this user take turns."""
    return cache_directory() / "jobs"


async def worker_report(
    ls: HipServer,
    request: JobRequest,
    progress: Progress,
    read: Callable[[Mapping[str, Any]], T],
    inspected: Callable[[Mapping[str, Any]], None] | None = None,
) -> T:
    """The report of a worker that does the request, as `read` gives it. Raises `JobFailed`.

    `inspected` is told what was seen of the program before it ran.
    """

    def tell(message: str, fraction: float | None) -> None:
        progress(message, fraction)
        ls.status(_STATES[request.kind], message)

    def wait(before: int) -> None:
        tell(f"waiting for {before} other {'job' if before == 1 else 'jobs'}", None)

    async with turn(turns_folder(), ls.settings.parallel_jobs, wait):
        spare = ls.spare.take() if request.kind == "optimize" else None
        data = await run_worker(request, tell, waiting=spare, inspected=inspected)
    try:
        return read(data)
    except RecordMismatch as mismatch:
        raise JobFailed(JobError(mismatch.message, mismatch.exit_code, hint=mismatch.hint)) from None


async def run_job(
    ls: HipServer,
    key: Path,
    kind: JobKind,
    work: Coroutine[Any, Any, Answer],
    show: Show,
    *,
    asked: bool,
) -> Answer:
    """Run a job, show what it found or how it failed, and leave the status as it should be. `asked`: the user waits."""
    if kind != "open" and not await may_run(ls, key, asked=asked):
        work.close()
        ls.status("idle", NOT_ALLOWED)
        if asked:
            ls.tell(f"hipscope: {NOT_ALLOWED}.", lsp.MessageType.Warning)
        return {"status": "failed", "message": NOT_ALLOWED, "hint": None}
    ls.jobs.cancel(PREPARING)
    ls.status(_STATES[kind], key.name)
    try:
        answer = await ls.jobs.run(str(key), work)
    except JobStopped:
        if not ls.jobs.running(str(key)):
            ls.status("idle", "cancelled")
        return {"status": "cancelled"}
    except asyncio.CancelledError:
        ls.status("idle", "cancelled")
        raise
    except JobFailed as failure:
        return await _failed(ls, key, failure, show, asked=asked)
    await show(ls, key)
    ls.status("idle", _sentence(answer))
    return answer


async def _failed(ls: HipServer, key: Path, failure: JobFailed, show: Show, *, asked: bool) -> Answer:
    """Put the problems on their lines and tell the user the one line that says what to do."""
    details = failure.details
    problems = tuple(
        Problem(d.file, d.line, ByteColumn(d.column), d.severity, d.message)
        for d in details.diagnostics
        if d.severity == "error" and d.file
    )
    mends = (*map(str, settings_files(key, ls.folders())), *details.absent)
    known = ls.store.fail(str(key), problems, mends)
    await show(ls, key)
    hint = (
        None if details.wants_arguments else details.hint
    )  # an editor has another way for them than a terminal
    line = f"hipscope: {failure_line(ls, key, details.message, hint)}"
    ls.status("error", failure_line(ls, key, details.message, None))
    if details.output:
        ls.log(f"{line}\n{details.output}")
    if asked or (not problems and known.told != line):
        tell_failed(ls, key, line, details)
        known.told = line
    return {"status": "failed", "message": details.message, "hint": details.hint}


def failure_line(ls: HipServer, key: Path, message: str, hint: str | None) -> str:
    """What went wrong and what to do, in the words of the user's own files."""
    program = key.name if key.suffix in SOURCES else f"the program in {key.name}"
    # Nobody looks for a file there.
    in_cache = rf"(['\"]?){re.escape(str(cache_directory()))}(?:/[^\s'\":]*)?\1"
    return re.sub(in_cache, "hipscope's cache", reason_first(message, hint, ls.folders(), program))


def reason_first(
    message: str, hint: str | None, folders: Iterable[Path] = (), program: str = "the program"
) -> str:
    """What went wrong and what to do, with the place behind it: an editor cuts long messages at their end.

    A place is named from its workspace folder on. Each line of a message has its own; the hint is the last one's.
    """
    *before, last = message.split("\n")
    said = [_with_place(line, "", folders) for line in before]
    said.append(_with_place(last, f" ({hint})" if hint else "", folders))
    return _PROGRAM.sub(lambda _: program, "\n".join(said), count=1)


def _with_place(line: str, hint: str, folders: Iterable[Path]) -> str:
    place = _PLACE.match(line)
    if place is None:
        return line + hint
    around = [folder for folder in folders if Path(place["path"]).is_relative_to(folder)]
    path = (
        os.path.relpath(place["path"], max(around, key=lambda f: len(f.parts))) if around else place["path"]
    )
    return f"{line[place.end() :]}{hint}: {path}"


def tell_failed(ls: HipServer, key: Path, line: str, failure: JobError) -> None:
    """Tell of a failed job, with buttons that mend it; of a program with what it printed last, often its usage."""
    message = line
    if failure.failure == "ProgramFailed":
        # A program names itself by where it lies: in our cache.
        output = re.sub(rf"{re.escape(str(cache_directory()))}/\S*/", "", failure.output)
        printed = [text.strip()[:_LONGEST_SHOWN] for text in output.splitlines() if text.strip()]
        # An editor may show all in one line.
        message = f"{line}. It printed: " + "\n".join(printed[-LINES_SHOWN:]) if printed else line
        if not ls.can_ask and not failure.lacks_files:
            message += (
                "\nArguments: a line `// hipscope: run ARGUMENTS` in the source, or `run` in hipscope.toml."
            )
    ls.in_background(ls.offer_repairs(key, message, failure))


def _sentence(answer: Answer) -> str:
    """What came of it, for the status bar: its message, or that a profile is partial.

    `hipscope/project` says what a profile has found, of the text as it is: after an undo, too.
    """
    return str(answer.get("message", "partial" if answer.get("partial") else ""))
