"""`hipscope.server.apply` and `hipscope.server.discard`: what the user decides about a verified rewrite.

Our extension gets the proposal as a notification and draws it; another client is asked by `window/showMessageRequest`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import from_fs_path

from hipscope.analysis.system.directories import state_directory, write_atomically
from hipscope.server.edit.workspace_edit import DocumentText, StaleEdit, edited_text, workspace_edit
from hipscope.server.features.commands.profile import profile
from hipscope.server.render.proposal import defects_sentence, evidence, headline, title
from hipscope.server.reports.schema.optimize import EditPart, Optimization
from hipscope.server.session.language_server import HipServer
from hipscope.server.session.project_job import Answer, Show
from hipscope.server.session.proposals import PendingRewrite

APPLY_ACTION, SHOW_ACTION, NEXT_ACTION, DISCARD_ACTION = "Apply", "Show", "Next Candidate", "Discard"
NOTIFICATION = "hipscope/proposal"
More = Callable[[HipServer, PendingRewrite, Show], Awaitable[Answer]]
"""What proposes the candidate after a proposal."""

_BOM = b"\xef\xbb\xbf"
_TOLD_WITHIN = (
    40  # looks, 50 ms apart: some editors tell of an edit after they have answered that it is applied
)


async def propose(ls: HipServer, proposal: PendingRewrite, show: Show, more: More) -> Answer:
    """Let the user decide about a proposal, or apply it where the settings say so; what is known by now.

    The answer does not wait for the user.
    """
    if ls.settings.apply == "directly":
        return await apply_proposal(ls, proposal, show)
    if ls.has_extension:
        ls.protocol.notify(NOTIFICATION, describe(ls, proposal))
    else:
        ls.in_background(_ask(ls, proposal, show, more))
    return _answer(proposal, applied=False, message=f"verified: {_sentence(proposal.found)}; not applied yet")


def describe(ls: HipServer, proposal: PendingRewrite) -> dict[str, object]:
    """A proposal as clients get it: new texts, patch and evidence. `fits`: its edit can be applied."""
    found = proposal.found
    files = [
        {"uri": ls.uri(part.file), "text": edited_text(part, text)}
        for part in (found.edit.parts if found.edit is not None else ())
        if (text := ls.text(part.file)) is not None and proposal.fits(ls.text)
    ]
    return {
        "id": proposal.id,
        "uri": proposal.uri,
        "title": title(found),
        "headline": headline(found),
        "kernel": found.kernel,
        "formula": found.formula,
        "speedup": found.speedup,
        "provenance": found.provenance,
        "fits": proposal.fits(ls.text),
        "files": files,
        "patch": found.diff or "",
        "defects": defects_sentence(found),
        "evidence": evidence(found),
    }


async def apply_proposal(ls: HipServer, proposal: PendingRewrite, show: Show) -> Answer:
    """Send the edit of a proposal if the texts are still those it was verified against; what came of it.

    A proposal that the editor refuses is kept. After an edit that was applied, its own profile is made.
    """
    found = proposal.found
    assert found.edit is not None
    sentence = _sentence(found)
    label = f"hipscope: {found.formula} rewrite of {found.kernel}"
    try:
        documents = [_document(ls, part.file) for part in found.edit.parts]
        edit = workspace_edit(found.edit, documents, label, f"verified: {sentence}", ls.edit_side())
    except StaleEdit as stale:
        ls.proposals.drop(proposal.id)
        return _told(
            ls,
            proposal,
            f"{Path(stale.file).name} was changed while the rewrite was being verified, so nothing was applied; "
            "optimize again",
        )
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=label)
    # Shielded: the client may still answer after this job was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    if not reply.applied:
        why = reply.failure_reason or "no reason given"
        return _told(
            ls, proposal, f"the editor refused the edit: {why}; it is kept: optimize again to apply it"
        )
    ls.proposals.drop(proposal.id)
    files = [Path(part.file).resolve() for part in found.edit.parts]
    edited = []
    for part, document in zip(found.edit.parts, documents, strict=True):
        original, changed = _before_and_after(part, document.text)
        edited.append((part.file, changed.removeprefix(_BOM).decode("utf-8", "surrogatepass")))
        with contextlib.suppress(OSError):  # a failure only costs the way back
            _keep(part, original, changed, files)
    await show(ls, proposal.asked.key)
    message = f"verified: {sentence}"
    ls.tell(f"hipscope: {message}. Undo takes it back.")
    ls.in_background(_profile_rewrite(ls, proposal, edited, show))
    return _answer(proposal, applied=True, message=message)


def discard(ls: HipServer, identifier: str) -> Answer:
    """Forget a proposal."""
    return {"discarded": ls.proposals.drop(identifier) is not None}


async def _ask(ls: HipServer, proposal: PendingRewrite, show: Show, more: More) -> None:
    """Ask what to do with a proposal until the user has decided; one without an answer is kept."""
    actions = [APPLY_ACTION, SHOW_ACTION, NEXT_ACTION, DISCARD_ACTION]
    message = f"hipscope: verified: {_sentence(proposal.found)}. {title(proposal.found)}. "
    message = (message + defects_sentence(proposal.found)).rstrip()
    while True:
        question = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Info,
            message=message,
            actions=[lsp.MessageActionItem(title=action) for action in actions],
        )
        chosen = await ls.window_show_message_request_async(question)
        if chosen is None:
            ls.tell("hipscope: the rewrite is kept: optimize the kernel again to decide about it.")
        elif chosen.title == APPLY_ACTION:
            await apply_proposal(ls, proposal, show)
        elif chosen.title == DISCARD_ACTION:
            discard(ls, proposal.id)
        elif chosen.title == NEXT_ACTION:
            await more(ls, proposal, show)
        else:
            await _show_evidence(ls, proposal)
            actions.remove(SHOW_ACTION)
            continue
        return


async def _show_evidence(ls: HipServer, proposal: PendingRewrite) -> None:
    """Open the page of a proposal in the editor; its change as a message where the client opens no documents."""
    page = evidence(proposal.found)
    support = ls.can("window", "show_document")
    if support is None or not support.support:
        ls.tell(page)
        return
    name = hashlib.sha256(page.encode()).hexdigest()[:16]
    path = state_directory() / "proposals" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode())
    uri = from_fs_path(str(path)) or ""
    await ls.window_show_document_async(lsp.ShowDocumentParams(uri=uri, take_focus=False))


async def _profile_rewrite(
    ls: HipServer, proposal: PendingRewrite, edited: Sequence[tuple[str, str]], show: Show
) -> None:
    """Show the rewrite's own profile, saved or not, once the editor has told that the files hold it.

    A job that has begun since, by a save or a command, goes on: it is of this text or a newer one.
    """
    key = str(proposal.asked.key)
    for _ in range(_TOLD_WITHIN):
        if ls.jobs.running(key):
            return
        if all(ls.text(file) == text for file, text in edited):
            await profile(ls, proposal.uri, show, asked=False)
            return
        await asyncio.sleep(0.05)


def _answer(proposal: PendingRewrite, *, applied: bool, message: str) -> Answer:
    found = proposal.found
    facts: Mapping[str, object] = {
        "status": found.status,
        "kernel": found.kernel,
        "formula": found.formula,
        "speedup": found.speedup,
    }
    return {**facts, "applied": applied, "proposal": None if applied else proposal.id, "message": message}


def _told(ls: HipServer, proposal: PendingRewrite, message: str) -> Answer:
    """The answer for an edit that was not applied, which the user is told too."""
    ls.tell(f"hipscope: {message}", lsp.MessageType.Warning)
    kept = ls.proposals.get(proposal.id) is not None
    return _answer(proposal, applied=False, message=message) | ({} if kept else {"proposal": None})


def _sentence(found: Optimization) -> str:
    """`transpose is 3.50x as fast (modelled)`."""
    speed, _, kernel = headline(found).rpartition(": ")
    return f"{kernel} is {speed}"


def _document(ls: HipServer, file: str) -> DocumentText:
    """What the editor has of a file, else the disk. Raises StaleEdit when that is no text."""
    document, text = ls.document(file), ls.text(file)
    if text is None:
        raise StaleEdit(file)
    return DocumentText(ls.uri(file), document.version if document else None, text)


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
