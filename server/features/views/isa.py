"""`hipscope/isa` and `hipscope.server.isa`: the machine code of a profiled kernel beside its source.

Each instruction has its cost, what it waited for, and the line where it stands in the text now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from hipscope.analysis.system.directories import state_directory, write_atomically
from hipscope.server.edit.positions import Encoding, column_units
from hipscope.server.render.views.saved_views import commented, instruction_notes
from hipscope.server.reports.isa_store import load_isa
from hipscope.server.reports.schema.fields import to_json
from hipscope.server.reports.schema.isa import (
    IsaInstruction,
    IsaListing,
    IsaReport,
    ListedInstruction,
    Producer,
)
from hipscope.server.reports.schema.profile import Kernel
from hipscope.server.session.known_profiles import Marks
from hipscope.server.session.language_server import HipServer, path_of

ISA = "hipscope.server.isa"


def register(server: HipServer) -> None:
    """Hook the request and the command into the server."""

    @server.feature("hipscope/isa")
    def isa_request(ls: HipServer, params: object) -> dict[str, Any]:
        return to_json(listing(ls, getattr(params, "_asdict", dict)()))

    @server.command(ISA)
    async def isa_command(ls: HipServer, arguments: object = None, *_: object) -> dict[str, Any]:
        return await show_isa(ls, listing(ls, arguments if isinstance(arguments, Mapping) else {}))


def listing(ls: HipServer, asked: Mapping[str, Any]) -> IsaListing:
    """The machine code of a kernel of the document `uri`: of that name, at `position`, else of the costliest.

    Raises JsonRpcInvalidParams where there is none, with what to do.
    """
    uri = asked.get("uri")
    marks = ls.marks(uri) if isinstance(uri, str) else None
    key = ls.store.owner(path_of(uri) or "") if isinstance(uri, str) else None
    if marks is None or key is None:
        raise JsonRpcInvalidParams("no profile of this document is known: profile it first")
    kernel = asked_kernel(marks, asked)
    found = load_isa(Path(key), marks.report.inputs, kernel.mangled)
    if found is None or not found.instructions:
        raise JsonRpcInvalidParams(f"the profile of {kernel.base_name} has no machine code: profile it again")
    return _listed(ls, marks, kernel, found)


def listed_of(ls: HipServer, uri: str, kernel: Kernel) -> IsaListing | None:
    """The machine code of a profiled kernel of a document; None where none was kept."""
    marks, key = ls.marks(uri), ls.store.owner(path_of(uri) or "")
    found = load_isa(Path(key), marks.report.inputs, kernel.mangled) if marks and key else None
    return _listed(ls, marks, kernel, found) if marks and found and found.instructions else None


async def show_isa(ls: HipServer, found: IsaListing) -> dict[str, Any]:
    """Open the machine code as a file of assembler, for a client that draws none itself."""
    text = isa_text(found)
    name = re.sub(r"\W+", "_", found.kernel)[:60] + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]
    path = state_directory() / "isa" / f"{name}.s"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    uri = from_fs_path(str(path)) or ""
    support = ls.can("window", "show_document")
    if support is not None and support.support:
        await ls.window_show_document_async(lsp.ShowDocumentParams(uri=uri, take_focus=False))
    else:
        ls.tell(f"hipscope: the machine code of {found.kernel} is in {path}")
    return {"status": "done", "uri": uri, "kernel": found.kernel, "instructions": len(found.instructions)}


def isa_text(listing: IsaListing) -> str:
    """Assembler with comments. Line N of the text, from 0, is instruction N - 1: the first line names the kernel."""
    unit = "samples" if listing.sampled else "cycles"
    head = f"; {listing.kernel}: {len(listing.instructions)} instructions, {listing.provenance} {unit}"
    head += ", of an older text" if listing.stale else ""
    return "\n".join([head, *(_line(one) for one in listing.instructions), ""])


def _line(one: ListedInstruction) -> str:
    waited = max(one.producers, key=lambda producer: producer.cycles).index + 2 if one.producers else None
    notes = instruction_notes(one.share, one.stalls, waited)
    if one.uri is not None and one.line is not None:
        notes.append(f"{one.uri.rpartition('/')[2]}:{one.line + 1}")
    return commented(one.text, notes)


def asked_kernel(marks: Marks, asked: Mapping[str, Any]) -> Kernel:
    """The kernel of that name, at that position, else the costliest of a document. Raises JsonRpcInvalidParams."""
    here = [kernel for kernel, _ in marks.kernels()] or list(marks.report.kernels)
    name, position = asked.get("kernel"), asked.get("position")
    if isinstance(name, str):
        named = [k for k in here if name in (k.name, k.mangled, k.base_name, marks.report.short_name(k))]
        if not named:
            known = ", ".join(dict.fromkeys(k.base_name for k in here)) or "none"
            raise JsonRpcInvalidParams(f"no kernel {name!r} in this profile; its kernels: {known}")
        here = named
    elif position is not None:
        given = position.get("line") if isinstance(position, Mapping) else getattr(position, "line", None)
        line = int(given or 0) + 1
        starts = sorted((at, k.mangled) for k, at in marks.kernels() if at <= line)
        here = [k for k in here if starts and k.mangled == starts[-1][1]] or here
    if not here:
        raise JsonRpcInvalidParams("this profile has no kernels")
    return max(here, key=lambda k: k.time_ns or 0.0)


def _column(marks: Marks, one: IsaInstruction, line: int | None, encoding: Encoding) -> int | None:
    """Where the instruction stands in its line, from 0; None where the line's text is another by now."""
    if line is None or not one.column or line > len(marks.current_lines):
        return None
    text = marks.current_lines[line - 1]
    same = marks.lines.line_before(one.line + 1) == text
    return column_units(text, one.column, encoding) if same else None


def _listed(ls: HipServer, marks: Marks, kernel: Kernel, found: IsaReport) -> IsaListing:
    files: dict[str, Marks | None] = {marks.file: marks}

    def placed(one: IsaInstruction) -> ListedInstruction:
        if one.file not in files:
            files[one.file] = ls.marks(ls.uri(one.file)) if one.file else None
        of = files[one.file]
        line = of.lines.to_new(one.line) if of is not None else one.line or None
        return ListedInstruction(
            index=one.index,
            text=one.text,
            uri=ls.uri(one.file) if one.file and line is not None else None,
            line=line - 1 if one.file and line is not None else None,
            hits=one.hits,
            cycles=one.latency,
            share=one.share,
            stalls=one.stalls,
            producers=tuple(Producer(int(i), cycles) for i, cycles in one.waited_for.items()),
            column=_column(of, one, line, ls.encoding) if of is not None else None,
            vgprs=one.vgprs,
        )

    return IsaListing(
        kernel=marks.report.short_name(kernel),
        mangled=kernel.mangled,
        provenance=found.provenance,
        sampled=found.sampled,
        stale=marks.is_stale(kernel),
        instructions=tuple(placed(one) for one in found.instructions),
    )
