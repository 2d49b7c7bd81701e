"""`hipscope.server.optimize`: a verified rewrite of a kernel, proposed to the user."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types as lsp

from hipscope.server.features.commands.proposal import propose
from hipscope.server.jobs.jobs import JobFailed
from hipscope.server.render.proposal import headline
from hipscope.server.reports.report_reader import read_optimization
from hipscope.server.reports.schema.optimize import Optimization
from hipscope.server.session.language_server import HipServer
from hipscope.server.session.progress import progress_bar
from hipscope.server.session.project_job import Answer, Show, job_request, needed_key, run_job, worker_report
from hipscope.server.session.proposals import Asked, PendingRewrite

_SEND = "Send"


async def optimize(ls: HipServer, uri: str, kernel: str | None, formula: str | None, show: Show) -> Answer:
    """Make a verified rewrite of a kernel and propose it.

    A rewrite that was made before, and that the user has not decided on, is proposed again where its text still stands.
    """
    return await _proposed(ls, uri, Asked(needed_key(ls, uri), kernel, formula or ls.settings.formula), show)


async def next_candidate(ls: HipServer, proposal: PendingRewrite, show: Show) -> Answer:
    """Propose another rewrite of the same kernel; the one that is passed over stays kept.

    Where there is no other, that one is proposed again.
    """
    answer = await _proposed(ls, proposal.uri, proposal.following(), show)
    if answer.get("status") not in ("verified", "cancelled") and ls.proposals.get(proposal.id) is not None:
        await propose(ls, proposal, show, next_candidate)
    return answer


async def _proposed(ls: HipServer, uri: str, asked: Asked, show: Show) -> Answer:
    """The proposal that answers what is asked, kept or made."""
    key = asked.key
    if (kept := ls.proposals.answering(asked, ls.text)) is not None:
        return await propose(ls, kept, show, next_candidate)
    made: list[PendingRewrite] = []

    async def work() -> Answer:
        title = f"Optimizing {key.name}"
        async with progress_bar(ls, title, lambda: ls.jobs.cancel(str(key))) as progress:
            request = replace(
                job_request(ls, "optimize", key, uri),
                kernel=asked.kernel,
                formula=asked.formula,
                passed_over=asked.passed_over,
            )
            try:
                found = await worker_report(ls, request, progress, read_optimization)
            except JobFailed as failure:
                if failure.details.failure != "ConsentNeeded" or not await _agreed(ls, failure):
                    raise
                agreed = replace(request, yes_send=True)
                found = await worker_report(ls, agreed, progress, read_optimization)
        if found.edit is None or found.status != "verified":
            return _without_edit(ls, found, another=bool(asked.passed_over))
        made.append(ls.proposals.add(uri, asked, found))
        return {"status": found.status, "message": f"verified: {headline(found)}"}

    answer = await run_job(ls, key, "optimize", work(), show, asked=True)
    return (
        await propose(ls, made[0], show, next_candidate)
        if made and answer.get("status") == "verified"
        else answer
    )


async def _agreed(ls: HipServer, failure: JobFailed) -> bool:
    """Ask the user whether the kernel may be sent to the language model that the message names."""
    question = lsp.ShowMessageRequestParams(
        type=lsp.MessageType.Warning,
        message=f"hipscope: {failure}. Send it, now and from now on?",
        actions=[lsp.MessageActionItem(title=_SEND), lsp.MessageActionItem(title="Do not send")],
    )
    return await ls.answer(question) == _SEND


def _without_edit(ls: HipServer, found: Optimization, *, another: bool) -> Answer:
    """Tell why there is no edit, or no other one."""
    message = f"no other rewrite was verified: {_why_not(found)}" if another else _why_not(found)
    ls.tell(f"hipscope: {message}")
    return {
        "status": found.status,
        "kernel": found.kernel,
        "formula": found.formula,
        "speedup": found.speedup,
        "applied": False,
        "proposal": None,
        "message": message,
    }


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
