"""`hipscope.server.optimize`: a verified rewrite of a kernel, sent to the editor as an edit."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.server.edit.workspace_edit import DocumentText, StaleEdit, workspace_edit
from hipscope.server.features.commands.profile import profile
from hipscope.server.jobs.jobs import JobFailed
from hipscope.server.reports.report_reader import read_optimization
from hipscope.server.reports.schema.optimize import EditPart, Optimization
from hipscope.server.session.language_server import HipServer
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.project_job import Answer, Show, job_request, needed_key, run_job, worker_report

_SEND = "Send"
_BOM = b"\xef\xbb\xbf"
_TOLD_WITHIN = (
    40  # looks, 50 ms apart: some editors tell of an edit after they have answered that it is applied
)


async def optimize(ls: HipServer, uri: str, kernel: str | None, formula: str | None, show: Show) -> Answer:
    """Make a verified rewrite of a kernel and send it to the editor as an edit."""
    key = needed_key(ls, uri)
    edited: list[tuple[str, str]] = []

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
        return await _offer(ls, found, edited)

    answer = await run_job(ls, key, "optimize", work(), show, asked=True)
    if edited and answer.get("applied"):
        ls.in_background(_profile_rewrite(ls, uri, str(key), tuple(edited), show))
    return answer


async def _profile_rewrite(
    ls: HipServer, uri: str, key: str, edited: Sequence[tuple[str, str]], show: Show
) -> None:
    """Show the rewrite's own profile, saved or not, once the editor has told that the files hold it.

    A job that has begun since, by a save or a command, is not ended for it: it is of this text or a newer one.
    """
    for _ in range(_TOLD_WITHIN):
        if ls.jobs.running(key):
            return
        if all(ls.text(file) == text for file, text in edited):
            await profile(ls, uri, show, asked=False)
            return
        await asyncio.sleep(0.05)


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


async def _offer(ls: HipServer, found: Optimization, edited: list[tuple[str, str]]) -> Answer:
    """Send a verified edit, if there is one and the text is still the one it was verified against.

    When the editor has applied it, the file with its new text is added to `edited`.
    """
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
    try:
        documents = [_document(ls, part.file) for part in found.edit.parts]
        edit = workspace_edit(found.edit, documents, label, answer["message"], ls.edit_side())
    except StaleEdit as stale:
        answer["message"] = (
            f"{Path(stale.file).name} was changed while the rewrite was being verified, so nothing was applied; "
            "optimize again"
        )
        ls.tell(f"hipscope: {answer['message']}", lsp.MessageType.Warning)
        return answer
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=label)
    # Shielded: the client may still answer after this job was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    answer["applied"] = reply.applied
    if reply.applied:
        files = [Path(part.file).resolve() for part in found.edit.parts]
        for part, document in zip(found.edit.parts, documents, strict=True):
            original, changed = _before_and_after(part, document.text)
            edited.append((part.file, changed.removeprefix(_BOM).decode("utf-8", "surrogatepass")))
            with contextlib.suppress(OSError):  # a failure only costs the way back
                _keep(part, original, changed, files)
        ls.tell(f"hipscope: {answer['message']}. Undo takes it back.")
    else:
        answer["message"] = f"the editor refused the edit: {reply.failure_reason or 'no reason given'}"
        ls.tell(f"hipscope: {answer['message']}", lsp.MessageType.Warning)
    return answer


def _document(ls: HipServer, file: str) -> DocumentText:
    """What the editor has of a file, else the disk. Raises StaleEdit when that is no text."""
    document, text = ls.document(file), ls.text(file)
    if text is None:
        raise StaleEdit(file)
    return DocumentText(ls.uri(file), document.version if document else None, text)


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


def _before_and_after(edit: EditPart, text: str) -> tuple[bytes, bytes]:
    """The content of the file that a document with that text is of, and the same with the edit."""
    original = text.encode("utf-8", "surrogatepass")
    if hashlib.sha256(original).hexdigest() != edit.original_sha256:
        original = _BOM + original
    return original, original[: edit.start_byte] + edit.new_text.encode() + original[edit.end_byte :]


def _keep(edit: EditPart, original: bytes, changed: bytes, files: Sequence[Path]) -> None:
    """Keep what a document held before an edit that the editor applied."""
    from hipscope.formulas.optimize.verified_edit import keep_original

    keep_original(Path(edit.file).resolve(), original, changed, files=files)
