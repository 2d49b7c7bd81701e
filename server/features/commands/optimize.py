"""`hipscope.server.optimize`: a verified rewrite of a kernel, sent to the editor as an edit."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from dataclasses import replace
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.server.edit.workspace_edit import EditSide, StaleEdit, workspace_edit
from hipscope.server.jobs.jobs import JobFailed
from hipscope.server.reports.report_reader import read_optimization
from hipscope.server.reports.schema.optimize import Edit, Optimization
from hipscope.server.session.language_server import HipServer
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.project_job import Answer, Show, job_request, needed_key, run_job, worker_report

_SEND = "Send"
_BOM = b"\xef\xbb\xbf"


async def optimize(ls: HipServer, uri: str, kernel: str | None, formula: str | None, show: Show) -> Answer:
    """Make a verified rewrite of a kernel and send it to the editor as an edit."""
    key = needed_key(ls, uri)

    async def work() -> Answer:
        title = f"Optimizing {key.name}"
        async with progress_bar(ls, title, lambda: ls.jobs.cancel(str(key))) as progress:
            request = job_request(ls, "optimize", key, uri)
            request = replace(request, kernel=kernel, formula=formula or ls.settings.formula)
            try:
                found = await worker_report(ls, request, progress, read_optimization)
            except JobFailed as failure:
                if failure.details.failure != "ConsentNeeded" or not await _agreed(ls, failure):
                    raise
                agreed = replace(request, yes_send=True)
                found = await worker_report(ls, agreed, progress, read_optimization)
        return await _offer(ls, found)

    return await run_job(ls, key, "optimize", work(), show, asked=True)


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
            _keep(found.edit, text)
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


def _keep(edit: Edit, text: str) -> None:
    """Keep what a document held before an edit that the editor applied. A failure only costs the way back."""
    from hipscope.formulas.optimize.verified_edit import keep_original

    original = text.encode("utf-8", "surrogatepass")
    if hashlib.sha256(original).hexdigest() != edit.original_sha256:
        original = _BOM + original
    changed = original[: edit.start_byte] + edit.new_text.encode() + original[edit.end_byte :]
    keep_original(Path(edit.file).resolve(), original, changed)
