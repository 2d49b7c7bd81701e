"""`hipscope/history`, `hipscope/compare`, `hipscope.server.compare`: profiles of a project by commit, two at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.history.store import HistoryEntry, KernelRow
from hipscope.server.features.commands import COMPARE
from hipscope.server.features.views.pages import open_text
from hipscope.server.history.baseline import SHORT, entries
from hipscope.server.render.blocks import Block, Heading, Table, literal, to_markdown
from hipscope.server.render.words import duration
from hipscope.server.session.language_server import HipServer
from hipscope.server.session.project_job import needed_key

MOST = 200
"""Profiles in an answer."""


def register(server: HipServer) -> None:
    """Hook the requests and the command into the server."""

    @server.feature("hipscope/history")
    async def history_request(ls: HipServer, params: object) -> dict[str, Any]:
        asked: Mapping[str, Any] = getattr(params, "_asdict", dict)()
        found = await _entries(_key(ls, asked.get("uri")))
        return {"profiles": [_profile(entry, rows) for entry, rows in found[:MOST]]}

    @server.feature("hipscope/compare")
    async def compare_request(ls: HipServer, params: object) -> dict[str, Any]:
        _, answer = await compare(ls, getattr(params, "_asdict", dict)())
        return answer

    @server.command(COMPARE)
    async def compare_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        title, answer = await compare(ls, arguments if isinstance(arguments, Mapping) else {})
        await open_text(ls, title, to_markdown(list(_page(title, answer))))
        return {"status": "done", "title": title}


async def compare(ls: HipServer, asked: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Two profiles of a document's project, `a` and `b`, by the ids of `hipscope/history`.

    Raises JsonRpcInvalidParams where there is none of that id.
    """
    found = await _entries(_key(ls, asked.get("uri")))
    known = {_id(entry): (entry, rows) for entry, rows in found}
    sides = []
    for name in ("a", "b"):
        if asked.get(name) not in known:
            raise JsonRpcInvalidParams(f"`{name}` is no id of a profile that `hipscope/history` lists")
        sides.append(known[asked[name]])
    (first, before), (second, after) = sides
    then, now = ({row.mangled: row for row in rows} for rows in (before, after))
    kernels = [_pair(then.get(name), now.get(name)) for name in dict.fromkeys([*now, *then])]
    comparable = (first.device, first.provenance) == (second.device, second.provenance)
    answer = {
        "a": _profile(first, before),
        "b": _profile(second, after),
        "comparable": comparable,
        "kernels": kernels,
    }
    return f"{_name(first)} to {_name(second)}", answer


def _key(ls: HipServer, uri: object) -> Path:
    if isinstance(uri, str):
        return needed_key(ls, uri)
    folders = ls.folders()
    if not folders:
        raise JsonRpcInvalidParams("the request takes one object with a string `uri`")
    return folders[0]


async def _entries(key: Path) -> list[tuple[HistoryEntry, list[KernelRow]]]:
    try:
        return await asyncio.to_thread(entries, key)
    except HipscopeError as failure:
        raise JsonRpcInvalidParams(str(failure)) from None


def _id(entry: HistoryEntry) -> str:
    return f"{entry.time}-{entry.commit_id[:SHORT]}-{entry.inputs[:8]}"


def _name(entry: HistoryEntry) -> str:
    return (entry.commit_id[:SHORT] or entry.time[:16].replace("T", " ")) + ("+" if entry.dirty else "")


def _profile(entry: HistoryEntry, rows: list[KernelRow]) -> dict[str, Any]:
    return {
        "id": _id(entry),
        "time": entry.time,
        "commit": entry.commit_id,
        "dirty": entry.dirty,
        "device": entry.device,
        "provenance": entry.provenance,
        "kernels": [_kernel(row) for row in rows],
    }


_NOT_SENT = ("counters", "launch_ns")  # what `hipscope history --importance` reads


def _kernel(row: KernelRow) -> dict[str, Any]:
    names = {"kernel": "name", "time_ns": "timeNs", "time_ns_low": "timeNsLow", "time_ns_high": "timeNsHigh"}
    return {names.get(name, name): value for name, value in asdict(row).items() if name not in _NOT_SENT}


def _pair(before: KernelRow | None, after: KernelRow | None) -> dict[str, Any]:
    shown = after or before
    assert shown is not None
    change = None
    if before is not None and after is not None and before.time_ns and after.time_ns is not None:
        change = after.time_ns / before.time_ns - 1.0
    return {
        "name": shown.kernel,
        "mangled": shown.mangled,
        "a": _kernel(before) if before is not None else None,
        "b": _kernel(after) if after is not None else None,
        "change": change,
    }


def _page(title: str, answer: Mapping[str, Any]) -> list[Block]:
    rows = []
    for kernel in answer["kernels"]:
        sides = [kernel[side] or {} for side in ("a", "b")]
        change = "" if kernel["change"] is None else f"{100 * kernel['change']:+.0f} %"
        rows.append(
            (
                literal(kernel["name"]),
                *(duration(side.get("timeNs")) if side else "not there" for side in sides),
                change,
                *("" if side.get("vgprs") is None else str(side["vgprs"]) for side in sides),
                str(sides[1].get("bound") or ""),
            )
        )
    said = f"{answer['b']['provenance'].capitalize()} on {answer['b']['device']}."
    if not answer["comparable"]:
        said += " The two are of different devices or kinds: their times are not comparable."
    header = ("kernel", "before", "after", "time", "VGPRs before", "after", "bound")
    return [Heading(title), Table(header, tuple(rows), frozenset({1, 2, 3, 4, 5})), said]
