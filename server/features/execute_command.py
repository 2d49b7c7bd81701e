"""`workspace/executeCommand`: profile, optimize, check, bench, openProfile, cancel; unpacks and calls `commands/`.

`hipscope/openProfile` is the same as a request of its own. A command takes one object: `uri`; to open, `path` or
`uri`; for optimize `kernel`, `formula` or `position` (the kernel there), for bench `kernel` or `position`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pygls.exceptions import JsonRpcInvalidParams

from hipscope.server.features.code_action import kernels_around
from hipscope.server.features.commands import BENCH, CANCEL, CHECK, OPEN_PROFILE, OPTIMIZE, PROFILE
from hipscope.server.features.commands.bench import write_bench
from hipscope.server.features.commands.cancel import cancel
from hipscope.server.features.commands.check import check
from hipscope.server.features.commands.open_profile import open_profile
from hipscope.server.features.commands.optimize import optimize
from hipscope.server.features.commands.profile import profile
from hipscope.server.features.project_marks import show_project
from hipscope.server.session.language_server import HipServer, path_of
from hipscope.server.session.project_job import Answer


def register(server: HipServer) -> None:
    """Hook the commands into the server."""

    @server.command(PROFILE)
    async def profile_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await profile(ls, _uri(arguments), show_project, asked=True)

    @server.command(OPTIMIZE)
    async def optimize_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(arguments)
        assert isinstance(arguments, Mapping)
        kernel = arguments.get("kernel") or _kernel_at(ls, uri, arguments.get("position"))
        return await optimize(ls, uri, kernel, arguments.get("formula"), show_project)

    @server.command(CHECK)
    async def check_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        return await check(ls, _uri(arguments), show_project)

    @server.command(BENCH)
    async def bench_command(ls: HipServer, arguments: object = None, *_: object) -> Answer:
        uri = _uri(arguments)
        assert isinstance(arguments, Mapping)
        kernel = arguments.get("kernel") or _kernel_text_at(ls, uri, arguments.get("position"))
        return await write_bench(ls, uri, str(kernel or ""))

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


def _uri(arguments: object) -> str:
    uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
    if not isinstance(uri, str):
        raise JsonRpcInvalidParams("the command takes one object with a string `uri`")
    return uri
