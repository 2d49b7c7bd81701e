"""`hipscope.server.setArguments`: the arguments of one program, written where the program itself is.

A source gets a line `// hipscope: run ...`, a project with a `build` another `run` in its `hipscope.toml`. Both come as
`workspace/applyEdit`, so Undo takes them back. Without arguments the user is asked, with those of the build files.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from hipscope.analysis.build_files.spoken import run_line
from hipscope.server.edit.positions import Encoding, byte_range
from hipscope.server.edit.workspace_edit import plain_edit
from hipscope.server.features.commands.profile import profile_edited
from hipscope.server.features.commands.settings_edit import setting_change
from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.reports.report_reader import read_builds
from hipscope.server.reports.schema.fields import RecordMismatch
from hipscope.server.session.known_profiles import SOURCES, toml_settings
from hipscope.server.session.language_server import HipServer, show_file
from hipscope.server.session.project_job import Answer, Show, job_request, needed_key
from hipscope.server.session.run_arguments import namer_of_arguments

ASK_EXTENSION = "hipscope/setArguments"
SET_ACTION, WRITE_ACTION = "Set arguments...", "Write them myself"
_LABEL = "hipscope: the arguments of the program"
_MOST_OFFERED = 3
_RUN_KEY = re.compile(r"^run[ \t]*=[^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class Suggestion:
    """Arguments that build files name, such as those of a Makefile's `run` goal."""

    arguments: tuple[str, ...]
    origin: str


async def describe_arguments(ls: HipServer, uri: str) -> Answer:
    """The arguments of a document's program, who names them, and those that its build files name."""
    key = needed_key(ls, uri)
    namer = namer_of_arguments(key, ls.text(str(key)))
    return {
        "uri": ls.uri(str(key)),
        "name": key.name,
        "arguments": list(_arguments_now(ls, key, namer)),
        "namedBy": namer,
        "writes": "toml" if key.suffix not in SOURCES else "source",
        "suggestions": [
            {"arguments": list(one.arguments), "origin": one.origin}
            for one in await _suggestions(ls, key, uri)
        ],
    }


async def set_arguments(ls: HipServer, uri: str, arguments: Sequence[str], show: Show) -> Answer:
    """Write the arguments of a document's program, and profile it with them. Never touches another program's."""
    key = needed_key(ls, uri)
    in_source = key.suffix in SOURCES
    file = key if in_source else key / "hipscope.toml"
    text = ls.text(str(file)) or ""
    written = _source_change if in_source else _toml_change
    change = written(text, arguments, ls.encoding)
    if change is None:
        return _told(ls, f"`run` in {file.name} could not be changed: write the arguments there by hand")
    document = ls.document(str(file))
    file_uri = ls.uri(str(file))
    edit = plain_edit(file_uri, document.version if document else None, [change], ls.edit_side())
    params = lsp.ApplyWorkspaceEditParams(edit=edit, label=_LABEL)
    # Shielded: the client may still answer after this request was cancelled.
    reply = await asyncio.shield(asyncio.ensure_future(ls.workspace_apply_edit_async(params)))
    if not reply.applied:
        return _told(ls, f"the editor refused the edit: {reply.failure_reason or 'no reason given'}")
    if in_source:

        def names_them(text: str) -> bool:
            found = run_line(text)
            return found is not None and found.arguments == tuple(arguments)

        ls.in_background(profile_edited(ls, uri, show, names_them))
    elif ls.has_extension:
        ls.protocol.notify("hipscope/save", {"uri": file_uri})
    message = f"{key.name} runs with {shlex.join(arguments) or 'no arguments'}"
    if not in_source and not ls.has_extension:
        ls.tell(f"hipscope: {message}: save {file.name} to profile it.")
    return {"status": "done", "applied": True, "message": message, "uri": file_uri}


async def ask_for_arguments(ls: HipServer, uri: str, show: Show) -> Answer:
    """Let the user say the arguments: in our extension's input box, else among those of the build files.

    Who wants others gets the line to write them on.
    """
    key = needed_key(ls, uri)
    if ls.has_extension:
        ls.protocol.notify(ASK_EXTENSION, {"uri": uri})
        return {"status": "asked", "applied": False, "message": "asked for the arguments"}
    found = {f"Run with {shlex.join(one.arguments)}": one for one in await _suggestions(ls, key, uri)}
    chosen: str | None = WRITE_ACTION
    if found and ls.can_ask:
        origins = ", ".join(dict.fromkeys(one.origin for one in found.values()))
        question = f"hipscope: the arguments of {key.name} (these are from {origins})"
        chosen = await _chosen(ls, question, [*found, WRITE_ACTION], lsp.MessageType.Info)
    if chosen is None:
        return {"status": "done", "applied": False, "message": "nothing was changed"}
    if chosen in found:
        return await set_arguments(ls, uri, found[chosen].arguments, show)
    return await _place_to_write(ls, key, uri, show)


async def _place_to_write(ls: HipServer, key: Path, uri: str, show: Show) -> Answer:
    """Open the place where the arguments stand; a source without the line gets it."""
    answer: Answer = {"status": "done", "applied": False, "message": "write the arguments, then save"}
    file = key if key.suffix in SOURCES else key / "hipscope.toml"
    if key.suffix in SOURCES and run_line(ls.text(str(file)) or "") is None:
        answer = await set_arguments(ls, uri, _arguments_now(ls, key, "setting"), show)
    text = ls.text(str(file)) or ""
    found = run_line(text)
    start = found.said.start if found is not None else m.start() if (m := _RUN_KEY.search(text)) else 0
    if not await show_file(ls, file, text.count("\n", 0, start)):
        ls.tell(f"hipscope: write the arguments of {key.name} behind `run` in {file.name}, then save.")
    return answer


def read_arguments(given: object) -> tuple[str, ...] | None:
    """The arguments of a command: a list of strings, or one string as in a shell; None when there are none."""
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = shlex.split(given)
        except ValueError as wrong:
            raise JsonRpcInvalidParams(f"`arguments`: {wrong}") from None
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) for word in given):
        raise JsonRpcInvalidParams("`arguments` is a list of strings, or one string as in a shell")
    if any("\n" in word or "\r" in word or "*/" in word for word in given):
        raise JsonRpcInvalidParams("an argument that a comment names holds no line end and no `*/`")
    return tuple(given)


def _arguments_now(ls: HipServer, key: Path, namer: str) -> tuple[str, ...]:
    if namer == "source" and (found := run_line(ls.text(str(key)) or "")) is not None:
        return found.arguments or ()
    if namer == "toml":
        from hipscope.analysis.toolchain.run_command import arguments_in

        said = toml_settings((key if key.is_dir() else key.parent) / "hipscope.toml")
        run, args = said.get("run"), said.get("args")
        return tuple(map(str, args)) if isinstance(args, list) and args else arguments_in(str(run or ""))
    return ls.settings_of(key).program_arguments


async def _suggestions(ls: HipServer, key: Path, uri: str) -> list[Suggestion]:
    """What the build files beside the program give it; none where they cannot be asked."""
    try:
        data = await run_worker(job_request(ls, "builds", key, uri), lambda _message, _share: None)
        found = read_builds(data).builds
    except (JobFailed, JobStopped, RecordMismatch):
        return []
    ways = {one.arguments: Suggestion(one.arguments, one.origin) for one in found if one.arguments}
    return list(ways.values())[:_MOST_OFFERED]


def _source_change(text: str, arguments: Sequence[str], encoding: Encoding) -> lsp.TextEdit:
    """The comment that names the arguments, in place of the one that is there, else as the first line."""
    words = f"hipscope: run {shlex.join(arguments)}".rstrip()
    found = run_line(text)
    if found is None:
        end = "\r\n" if "\r\n" in text else "\n"
        return lsp.TextEdit(_range(text, 0, 0, encoding), f"// {words}{end}")
    said = found.said
    return lsp.TextEdit(
        _range(text, said.start, said.end, encoding), f"/* {words} */" if said.block else f"// {words}"
    )


def _range(text: str, start: int, end: int, encoding: Encoding) -> lsp.Range:
    first, last = (len(text[:at].encode("utf-8", "surrogatepass")) for at in (start, end))
    return byte_range(text, first, last, encoding)


def _toml_change(text: str, arguments: Sequence[str], encoding: Encoding) -> lsp.TextEdit | None:
    """Another `run` in the text of a `hipscope.toml`; None where that would change anything else."""
    from hipscope.analysis.toolchain.run_command import with_arguments

    try:
        run = with_arguments(str(tomllib.loads(text)["run"]), arguments)
    except (KeyError, ValueError):
        return None
    return setting_change(text, "run", run, encoding)


async def _chosen(ls: HipServer, message: str, titles: Sequence[str], kind: lsp.MessageType) -> str | None:
    actions = [lsp.MessageActionItem(title=title) for title in titles]
    params = lsp.ShowMessageRequestParams(type=kind, message=message, actions=actions)
    chosen = await ls.window_show_message_request_async(params)
    return None if chosen is None else chosen.title


def _told(ls: HipServer, message: str) -> Answer:
    ls.tell(f"hipscope: {message}.", lsp.MessageType.Warning)
    return {"status": "failed", "applied": False, "message": message}
