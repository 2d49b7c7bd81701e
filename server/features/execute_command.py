"""`workspace/executeCommand`: profile, optimize, cancel. Each answers with a small object that says how it ended.

A command takes one object: `uri`, and for optimize `kernel`, `formula` or `position` (the kernel there).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.analysis.run import Progress
from hipscope.analysis.source.texts import ByteColumn
from hipscope.server.edit.workspace_edit import EditSide, StaleEdit, workspace_edit
from hipscope.server.features.code_action import CHECK, kernels_around
from hipscope.server.features.code_lens import OPTIMIZE, PROFILE
from hipscope.server.features.diagnostics import publish_project
from hipscope.server.features.heat import send_heat
from hipscope.server.features.restore import keep
from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.reports.profile_reader import Optimization, base_name, read_optimization, read_report
from hipscope.server.session.check_problems import check_problems
from hipscope.server.session.known_profiles import Problem, project_key
from hipscope.server.session.language_server import HipServer, dirty_texts, disk_text, path_of
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.saved_reports import save_report

CANCEL = "hipscope.server.cancel"
HEADERS = frozenset({".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc"})
PREPARING = "preparing"
"""The key of the job that prepares rewrites: there is one for all projects."""

_SEND = "Send"
_STATES = {"profile": "profiling", "check": "checking", "optimize": "optimizing"}

Answer = dict[str, Any]


def register(server: HipServer) -> None:
    """Hook the commands into the server."""

    @server.command(PROFILE)
    async def profile_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await profile(ls, _uri(arguments), asked=True)

    @server.command(OPTIMIZE)
    async def optimize_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(arguments)
        assert isinstance(arguments, Mapping)
        kernel = arguments.get("kernel") or _kernel_at(ls, uri, arguments.get("position"))
        return await optimize(ls, uri, kernel, arguments.get("formula"))

    @server.command(CHECK)
    async def check_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await check(ls, _uri(arguments))

    @server.command(CANCEL)
    async def cancel_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
        key = key_of(ls, uri) if isinstance(uri, str) else None
        return {"cancelled": ls.jobs.cancel(str(key) if key else None)}


async def profile(ls: HipServer, uri: str, *, asked: bool) -> Answer:
    """Build and profile the project of a document and show the result. `asked`: the user waits for this one."""
    key = key_of(ls, uri)
    if key is None:
        raise JsonRpcInvalidParams(f"{uri} is not a file")

    async def work() -> Answer:
        async with progress_bar(ls, f"Profiling {key.name}", lambda: ls.jobs.cancel(str(key))) as report:
            overlays = dirty_texts(list(ls.open_documents()))
            result = await _work(ls, "profile", key, uri, overlays, report)
        known = ls.store.update(
            str(key), read_report(result["report"]), lambda f: overlays.get(f) or disk_text(f)
        )
        assert known.report is not None
        save_report(key, result["report"])
        if (why := known.report.failure()) is not None:
            ls.tell(f"hipscope: {why}. What was recorded until then is shown.", lsp.MessageType.Warning)
        if known.report.partial:
            ls.log(f"hipscope: the profile of {key.name} is partial: {known.report.partial}")
        for fault in known.report.faults:
            if fault.refused:
                ls.log(f"hipscope: launch refused of {fault.kernel}: {fault.message}")
        return {
            "status": "done",
            "failure": why,
            "kernels": len(known.report.kernels),
            "findings": len(known.report.findings),
            "partial": known.report.partial,
        }

    answer = await _run(ls, key, "profiling", work(), asked)
    if answer.get("findings") and ls.jobs.idle:
        ls.in_background(_prepare(ls, key, uri))
    return answer


async def _prepare(ls: HipServer, key: Path, uri: str) -> None:
    """Make what rewrites will need, and a worker for them, in the background.

    Any other job ends it, without a message.
    """
    overlays = dirty_texts(list(ls.open_documents()))
    with contextlib.suppress(JobStopped, JobFailed):
        work = run_worker(_request(ls, "prepare", key, uri, overlays), lambda _message, _share: None)
        await ls.jobs.run(PREPARING, work)
        await ls.spare.keep()


async def check(ls: HipServer, uri: str) -> Answer:
    """Run the project of a document under the sanitizers and show their reports."""
    key = key_of(ls, uri)
    if key is None:
        raise JsonRpcInvalidParams(f"{uri} is not a file")

    async def work() -> Answer:
        async with progress_bar(ls, f"Checking {key.name}", lambda: ls.jobs.cancel(str(key))) as report:
            overlays = dirty_texts(list(ls.open_documents()))
            result = (await _work(ls, "check", key, uri, overlays, report))["report"]
        problems = check_problems(result)
        ls.store.keep_checks(str(key), problems, lambda f: overlays.get(f) or disk_text(f))
        count = len(result["reports"])
        message = f"{count} {'defect' if count == 1 else 'defects'} found" if count else "no defect found"
        if result["failure"]:
            message += f"; {result['failure']}"
        ls.tell(f"hipscope check: {message}.")
        return {"status": "done", "reports": count, "failure": result["failure"], "message": message}

    return await _run(ls, key, "checking", work(), asked=True)


async def optimize(ls: HipServer, uri: str, kernel: str | None, formula: str | None) -> Answer:
    """Make a verified rewrite of a kernel and send it to the editor as an edit."""
    key = key_of(ls, uri)
    if key is None:
        raise JsonRpcInvalidParams(f"{uri} is not a file")
    options = {
        "kernel": kernel,
        "formula": formula or ls.settings.formula,
        "rewriter": ls.settings.rewriter,
        "stored_keys": ls.stored_keys,
    }

    async def work() -> Answer:
        title = f"Optimizing {key.name}"
        async with progress_bar(ls, title, lambda: ls.jobs.cancel(str(key))) as report:
            overlays = dirty_texts(list(ls.open_documents()))
            try:
                result = await _work(ls, "optimize", key, uri, overlays, report, options)
            except JobFailed as failure:
                if failure.details.get("failure") != "ConsentNeeded" or not await _agreed(ls, failure):
                    raise
                result = await _work(
                    ls, "optimize", key, uri, overlays, report, {**options, "yes_send": True}
                )
        return await _offer(ls, read_optimization(result["report"]))

    return await _run(ls, key, "optimizing", work(), asked=True)


async def _agreed(ls: HipServer, failure: JobFailed) -> bool:
    """Ask the user whether the kernel may be sent to the language model that the message names."""
    question = lsp.ShowMessageRequestParams(
        type=lsp.MessageType.Warning,
        message=f"hipscope: {failure}. Send it, now and from now on?",
        actions=[lsp.MessageActionItem(title=_SEND), lsp.MessageActionItem(title="Do not send")],
    )
    # Shielded: the client may still answer after this job was cancelled.
    chosen = await asyncio.shield(asyncio.ensure_future(ls.window_show_message_request_async(question)))
    return chosen is not None and chosen.title == _SEND


def key_of(ls: HipServer, uri: str) -> Path | None:
    """The project that a document belongs to: for a lone header, the program that was profiled with it."""
    file = path_of(uri)
    if file is None:
        return None
    key = project_key(Path(file), ls.folders())
    if key.suffix in HEADERS and (owner := ls.store.owner(file)) is not None:
        return Path(owner)
    return key


async def _work(
    ls: HipServer,
    kind: str,
    key: Path,
    uri: str,
    overlays: Mapping[str, str],
    report: Progress,
    options: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Have a worker do it."""

    def tell(message: str, fraction: float | None) -> None:
        report(message, fraction)
        ls.status(_STATES[kind], message)

    waiting = ls.spare.take() if kind == "optimize" else None
    return await run_worker(_request(ls, kind, key, uri, overlays, options), tell, waiting=waiting)


def _request(
    ls: HipServer,
    kind: str,
    key: Path,
    uri: str,
    overlays: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    settings = ls.settings
    return {
        "kind": kind,
        "target": str(key),
        "file": path_of(uri),
        "program_args": list(settings.program_arguments),
        "backend": settings.backend,
        "device": settings.device,
        "arch": settings.arch,
        "time_budget_s": settings.time_budget,
        "overlays": dict(overlays),
        **(options or {}),
    }


async def _run(ls: HipServer, key: Path, state: str, work: Any, asked: bool) -> Answer:
    """Run a job, show what it found or how it failed, and leave the status as it should be."""
    ls.jobs.cancel(PREPARING)
    ls.status(state, key.name)
    try:
        answer: Answer = await ls.jobs.run(str(key), work)
    except JobStopped:
        if not ls.jobs.running(str(key)):
            ls.status("idle", "cancelled")
        return {"status": "cancelled"}
    except asyncio.CancelledError:
        ls.status("idle", "cancelled")
        raise
    except JobFailed as failure:
        return await _failed(ls, key, failure, asked)
    await _show(ls, key)
    ls.status("idle", _sentence(answer))
    return answer


async def _failed(ls: HipServer, key: Path, failure: JobFailed, asked: bool) -> Answer:
    """Put the problems on their lines and show the user the one line with the next step."""
    details = failure.details
    message, hint = str(failure), details.get("hint")
    problems = tuple(
        Problem(
            str(d["file"]),
            int(d["line"]),
            ByteColumn(int(d["column"])),
            str(d["severity"]),
            str(d["message"]),
        )
        for d in details.get("diagnostics", ())
        if d.get("severity") == "error" and d.get("file")
    )
    known = ls.store.fail(str(key), problems)
    await _show(ls, key)
    line = f"hipscope: {message}" + (f" ({hint})" if hint else "")
    ls.status("error", message)
    if output := str(details.get("output") or ""):
        ls.log(f"{line}\n{output}")
    if asked or (not problems and known.told != line):
        ls.tell(line, lsp.MessageType.Error)
        known.told = line
    return {"status": "failed", "message": message, "hint": hint}


async def _show(ls: HipServer, key: Path) -> None:
    publish_project(ls, str(key))
    for document in ls.open_documents():
        if path_of(document.uri) in ls.store.files(str(key)):
            send_heat(ls, document.uri)
    await ls.refresh()


async def _offer(ls: HipServer, found: Optimization) -> Answer:
    """Send a verified edit, if there is one and the text is still the one it was verified against."""
    answer: Answer = {
        "status": found.status,
        "kernel": found.kernel,
        "formula": found.formula,
        "speedup": found.speedup,
        "applied": False,
    }
    if found.edit is None or found.status != "verified":
        answer["message"] = _why_not(found)
        ls.tell(f"hipscope: {answer['message']}")
        return answer
    label = f"hipscope: {found.formula} rewrite of {found.kernel}"
    speedup = f"{found.speedup:.2f}x as fast" if found.speedup else "faster"
    answer["message"] = f"verified: {base_name(found.kernel or '')} is {speedup} ({found.provenance})"
    uri = ls.uri(found.edit.file)
    document = ls.document(found.edit.file)
    text = ls.text(found.edit.file)
    try:
        if text is None:
            raise StaleEdit
        edit = workspace_edit(
            found.edit,
            text,
            uri,
            document.version if document else None,
            label,
            answer["message"],
            EditSide(
                ls.encoding,
                bool(ls.can("workspace", "workspace_edit", "document_changes")),
                ls.can("workspace", "workspace_edit", "change_annotation_support") is not None,
            ),
        )
    except StaleEdit:
        answer["message"] = (
            f"{Path(found.edit.file).name} was changed while the rewrite was being verified, so nothing was applied; "
            "optimize again"
        )
        ls.tell(f"hipscope: {answer['message']}", lsp.MessageType.Warning)
        return answer
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=label)
    # Shielded: the client may still answer after this job was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    answer["applied"] = reply.applied
    if reply.applied:
        with contextlib.suppress(OSError):
            keep(found.edit, text)
        ls.tell(f"hipscope: {answer['message']}. Undo takes it back.")
    else:
        answer["message"] = f"the editor refused the edit: {reply.failure_reason or 'no reason given'}"
        ls.tell(f"hipscope: {answer['message']}", lsp.MessageType.Warning)
    return answer


def _why_not(found: Optimization) -> str:
    """One line on why there is no edit."""
    if found.message:
        return found.message
    if found.status == "nothing_to_do":
        return (
            "nothing to optimize: no finding in this kernel"
            if found.kernel
            else "nothing to optimize: no finding"
        )
    reasons = [a.reason for a in found.attempts if a.reason]
    return "no verified improvement" + (f": {reasons[-1]}" if reasons else "")


def _sentence(answer: Answer) -> str:
    if "message" in answer:
        return str(answer["message"])
    counts = (answer.get("kernels", 0), "kernel"), (answer.get("findings", 0), "finding")
    words = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts]
    return ", ".join([*words, *(["partial"] if answer.get("partial") else [])])


def _kernel_at(ls: HipServer, uri: str, position: object) -> str | None:
    """The mangled name of the profiled kernel at a position; None when there is none or nothing is known."""
    marks = ls.marks(uri)
    if marks is None or not isinstance(position, Mapping):
        return None
    line = int(position.get("line", -1)) + 1
    return next((k.mangled for k in kernels_around(marks, line, line)), None)


def _uri(arguments: object) -> str:
    uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
    if not isinstance(uri, str):
        raise JsonRpcInvalidParams("the command takes one object with a string `uri`")
    return uri
