"""`workspace/executeCommand`: unpacks the arguments and calls `commands/`. `hipscope/openProfile` is a request, too.

A command takes one object: `uri`; to open, `path` or `uri`; for optimize `kernel`, `formula` or `position` (the kernel
there), for bench `kernel` or `position`; for apply, discard and nextCandidate the `id` of a proposal.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.features.code_action import kernels_around
from hipscope.server.features.commands import (
    APPLY,
    BENCH,
    CANCEL,
    CHECK,
    CHOOSE_BUILD,
    DISCARD,
    NEXT,
    OPEN_PROFILE,
    OPTIMIZE,
    PROFILE,
    SET_ARGUMENTS,
)
from hipscope.server.features.commands.arguments import (
    ask_for_arguments,
    describe_arguments,
    read_arguments,
    set_arguments,
)
from hipscope.server.features.commands.bench import write_bench
from hipscope.server.features.commands.cancel import cancel
from hipscope.server.features.commands.check import check
from hipscope.server.features.commands.open_profile import open_profile
from hipscope.server.features.commands.optimize import next_candidate, optimize
from hipscope.server.features.commands.profile import choose_again, profile
from hipscope.server.features.commands.proposal import apply_proposal, discard
from hipscope.server.features.commands.repairs import offer_repairs
from hipscope.server.features.project_marks import show_project
from hipscope.server.jobs.jobs import run_worker
from hipscope.server.jobs.messages import JobError
from hipscope.server.session.language_server import HipServer, path_of
from hipscope.server.session.project_job import Answer, job_request, needed_key
from hipscope.server.session.proposals import PendingRewrite


def register(server: HipServer) -> None:
    """Hook the commands into the server."""

    @server.command(PROFILE)
    async def profile_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(ls, arguments)
        return await _answered(ls, profile(ls, uri, show_project, asked=True))

    @server.command(OPTIMIZE)
    async def optimize_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(ls, arguments)
        assert isinstance(arguments, Mapping)
        kernel = arguments.get("kernel") or _kernel_at(ls, uri, arguments.get("position"))
        return await _answered(ls, optimize(ls, uri, kernel, arguments.get("formula"), show_project))

    @server.command(APPLY)
    async def apply_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await _answered(ls, apply_proposal(ls, _proposal(ls, arguments), show_project))

    @server.command(DISCARD)
    async def discard_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return discard(ls, _proposal(ls, arguments).id)

    @server.command(NEXT)
    async def next_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await _answered(ls, next_candidate(ls, _proposal(ls, arguments), show_project))

    @server.command(CHECK)
    async def check_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await _answered(ls, check(ls, _uri(ls, arguments), show_project))

    @server.command(BENCH)
    async def bench_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(ls, arguments)
        assert isinstance(arguments, Mapping)
        kernel = arguments.get("kernel") or _kernel_text_at(ls, uri, arguments.get("position"))
        return await write_bench(ls, uri, str(kernel or ""), show_project)

    @server.command(SET_ARGUMENTS)
    async def set_arguments_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(ls, arguments)
        assert isinstance(arguments, Mapping)
        given = read_arguments(arguments.get("arguments"))
        if given is None:
            return await _answered(ls, ask_for_arguments(ls, uri, show_project))
        return await set_arguments(ls, uri, given, show_project)

    @server.feature("hipscope/arguments")
    async def arguments_request(ls: HipServer, params: object) -> Answer:
        return await describe_arguments(ls, _uri(ls, getattr(params, "_asdict", dict)()))

    @server.feature("hipscope/builds")
    async def builds_request(ls: HipServer, params: object) -> Answer:
        uri = _uri(ls, getattr(params, "_asdict", dict)())
        request = job_request(ls, "builds", needed_key(ls, uri), uri)
        return dict(await run_worker(request, lambda _message, _share: None))

    async def offer(key: Path, message: str, failure: JobError) -> None:
        await offer_repairs(server, key, message, failure, show_project)

    server.offer_repairs = offer

    @server.command(CHOOSE_BUILD)
    async def choose_build_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await _answered(ls, choose_again(ls, _uri(ls, arguments), show_project))

    @server.command(OPEN_PROFILE)
    async def open_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await open_profile(ls, _path(arguments), show_project)

    @server.feature("hipscope/openProfile")
    async def open_request(ls: HipServer, params: object) -> Answer:
        return await open_profile(ls, _path(params), show_project)

    @server.command(CANCEL)
    async def cancel_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
        return cancel(ls, uri if isinstance(uri, str) else None)


def _kernel_at(ls: HipServer, uri: str, position: object) -> str | None:
    """The mangled name of the profiled kernel at a position; None when there is none or nothing is known."""
    marks = ls.marks(uri)
    if marks is None or not isinstance(position, Mapping):
        return None
    line = int(position.get("line", -1)) + 1
    return next((k.mangled for k in kernels_around(marks, line, line)), None)


def _kernel_text_at(ls: HipServer, uri: str, position: object) -> str | None:
    """The name of the kernel whose definition is at a position of the document, profiled or not."""
    from hipscope.analysis.source.parse import parse

    file = path_of(uri)
    text = ls.text(file) if file is not None else None
    if text is None or not isinstance(position, Mapping):
        return None
    kernel = parse(text.encode("utf-8", "surrogatepass")).kernel_at(int(position.get("line", -1)) + 1)
    return kernel.name if kernel is not None else None


def _path(arguments: object) -> Path:
    """The file or folder of a command that opens something: `path`, or `uri` of a file."""
    given = arguments if isinstance(arguments, Mapping) else getattr(arguments, "_asdict", dict)()
    path, uri = given.get("path"), given.get("uri")
    found = path if isinstance(path, str) and path else path_of(uri) if isinstance(uri, str) else None
    if found is None:
        raise JsonRpcInvalidParams("the request takes one object with a string `path`, or `uri` of a file")
    return Path(found).expanduser().absolute()


async def _answered(ls: HipServer, work: Coroutine[Any, Any, Answer]) -> Answer:
    """What came of a command; at once that it has started where the client would stand still until the end."""
    if ls.waits_for_commands:
        return await work

    async def run() -> None:
        await work

    ls.in_background(run())
    return {"status": "started"}


def _uri(ls: HipServer, arguments: object) -> str:
    uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
    if not isinstance(uri, str):
        raise JsonRpcInvalidParams("the command takes one object with a string `uri`")
    needed_key(ls, uri)
    return uri


def _proposal(ls: HipServer, arguments: object) -> PendingRewrite:
    identifier = arguments.get("id") if isinstance(arguments, Mapping) else None
    if not isinstance(identifier, str):
        raise JsonRpcInvalidParams("the command takes one object with the `id` of a proposal")
    if (proposal := ls.proposals.get(identifier)) is None:
        raise JsonRpcInvalidParams(f"no proposal {identifier} is kept: optimize the kernel again")
    return proposal
