"""Omniprobe's memory analysis: cache lines and bank conflicts by source position, as JSON or as text.

Takes the file, gives access patterns: one instruction per position and kind. A file that was cut off, or has no closing
bracket, is read as far as it goes. The text names no kernel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.rocprof_csv import kernel_name
from hipscope.analysis.ingest.formats.tables import text_of
from hipscope.analysis.ingest.formats.traces import DAMAGE, Trace, TracedInstruction, file_name
from hipscope.analysis.profile import Frame, MemoryPattern

_OWN_PREFIX = "__amd_crk_"  # of the instrumented clone of a kernel
_PLACE = re.compile(r"^(?P<file>\S.*):(?P<line>\d+):(?P<column>\d+)$")
_ACCESS = re.compile(
    r"(?P<kind>read|write) of (?P<bytes>\d+) bytes at IR level(?: \((?P<isa>\d+) bytes at ISA level)?"
)
_LINES = re.compile(r"executed (\d+) times, (\d+) cache lines needed, (\d+) cache lines used")
_BANKS = re.compile(r"executed (\d+) times, (\d+) bank conflicts in total")
_TEXT_KERNEL = "(all kernels)"
_WAVE = 64


def read_json(path: Path) -> Recorded:
    """Patterns by kernel."""
    text = text_of(path)
    traces: dict[tuple[str, int | None], list[TracedInstruction]] = {}
    damaged = 0
    objects, cut = _objects(text)
    for entry in objects:
        try:
            analysis = entry["kernel_analysis"]
            info = analysis["kernel_info"]
            name = kernel_name(str(info["name"])).removeprefix(_OWN_PREFIX)
            dispatch = info.get("dispatch_id")
            into = traces.setdefault((name, dispatch if isinstance(dispatch, int) else None), [])
            line_bytes = _line_bytes(entry)
            for key, space in (("cache_analysis", "global"), ("bank_conflicts", "lds")):
                for access in (analysis.get(key) or {}).get("accesses") or ():
                    into.append(_instruction(len(into) + 1, access, space, line_bytes))
        except DAMAGE:
            damaged += 1
    notes = [f"{damaged} entries are damaged and left out"] if damaged else []
    if cut:
        notes.append("the file ends in the middle: it was read up to there")
    if not traces:
        raise ValueError(
            "no kernel_analysis is in it" + (": not valid JSON, or not all of it" if cut else "")
        )
    return Recorded(
        traces=[
            Trace(dispatch, "", name, tuple(found), sampled=False)
            for (name, dispatch), found in traces.items()
        ],
        notes=notes,
    )


def read_text(path: Path) -> Recorded:
    """Patterns of a printed report. It has no kernel names, so they stand under one name."""
    found: list[TracedInstruction] = []
    place: tuple[str, int, int] | None = None
    access: re.Match[str] | None = None
    for line in text_of(path).splitlines():
        words = line.strip()
        if match := _PLACE.match(words):
            place, access = (match["file"], int(match["line"]), int(match["column"])), None
        elif match := _ACCESS.search(words):
            access = match
        elif place and access and (match := _LINES.search(words) or _BANKS.search(words)):
            lines = len(match.groups()) == 3
            info = {
                "type": access["kind"],
                "ir_bytes": int(access["bytes"]),
                "isa_bytes": int(access["isa"] or access["bytes"]),
                "execution_count": int(match[1]),
                "total_conflicts": int(match[2]),
                "cache_lines": {"needed": int(match[2]), "used": int(match[3])} if lines else None,
            }
            location = {"file": place[0], "line": place[1], "column": place[2]}
            entry = {"source_location": location, "access_info": info}
            found.append(_instruction(len(found) + 1, entry, "global" if lines else "lds", 128))
    if not found:
        raise ValueError("no access is in the report")
    return Recorded(
        traces=[Trace(None, "", _TEXT_KERNEL, tuple(found), sampled=False)],
        notes=["the text names no kernels: its accesses stand under one name"],
    )


def _instruction(
    number: int, entry: Mapping[str, Any], space: Literal["global", "lds"] | str, line_bytes: int
) -> TracedInstruction:
    location, info = entry["source_location"], entry["access_info"]
    times = int(info["execution_count"])
    width = int(info.get("isa_bytes") or info["ir_bytes"])
    kind: Literal["load", "store"] = "load" if info["type"] == "read" else "store"
    lines = info.get("cache_lines") or {}
    conflicts = float(info.get("total_conflicts") or 0) if space == "lds" else 0.0
    # Conflict-free accesses of up to 4 bytes take one cycle for each half of the wave.
    useful = float(times) * max(2, _WAVE * width // 128)
    pattern = MemoryPattern(
        space="lds" if space == "lds" else "global",
        kind=kind,
        bytes_per_lane=width,
        accesses=times,
        lanes=times * _WAVE,
        line_bytes=line_bytes,
        lines_needed=float(lines.get("needed") or 0),
        lines_used=float(lines.get("used") or 0),
        lds_cycles=useful + conflicts if space == "lds" else 0.0,
        lds_conflict_cycles=conflicts,
    )
    frame = Frame(
        file=file_name(str(location["file"])),
        line=int(location["line"]),
        column=int(location.get("column") or 0),
    )
    return TracedInstruction(
        line=number,
        text=str(info.get("isa_instruction") or f"{'ds' if space == 'lds' else 'global'}_{kind}"),
        code_object=0,
        address=0,
        source=(frame,),
        hits=times,
        lanes=times * _WAVE,
        latency=0.0,
        stall=0.0,
        memory=pattern,
    )


def _line_bytes(entry: Mapping[str, Any]) -> int:
    gpu = (entry.get("metadata") or {}).get("gpu_info") or {}
    size = gpu.get("cache_line_size")
    return size if isinstance(size, int) and size > 0 else 128


def _objects(text: str) -> tuple[list[Mapping[str, Any]], bool]:
    """The objects of the array, and whether the text ends before it does."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return list(_as_far_as_it_goes(text)), True
    entries = data if isinstance(data, list) else [data]
    return [e for e in entries if isinstance(e, dict)], False


def _as_far_as_it_goes(text: str) -> Iterator[Mapping[str, Any]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            entry, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(entry, dict):
            yield entry
        at = text.find("{", end)
