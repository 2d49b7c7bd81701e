"""`stats_ui_output_*.csv`: the totals of a thread trace as a table, for captures that have lost its folder.

Takes the file, gives a `Recorded` with one trace. Older writers leave instructions unquoted though they have commas.
"""

from __future__ import annotations

import re
from pathlib import Path

from hipscope.analysis.ingest.formats.columns import MISSING, integers
from hipscope.analysis.ingest.formats.recording import Recorded
from hipscope.analysis.ingest.formats.tables import split_record, text_of
from hipscope.analysis.ingest.formats.traces import Trace, TracedInstruction, source_chain

_WIDTH = 8
_DISPATCH = re.compile(r"ui_output_agent_(\d+)_dispatch_(\d+)")


def read_totals(path: Path) -> Recorded:
    """The trace. Raises ValueError when no instruction is in the table."""
    lines = text_of(path).splitlines()[1:]
    match = _DISPATCH.search(path.name)
    labels: list[tuple[str, str]] = []
    found: list[TracedInstruction] = []
    damaged = 0
    for line in lines:
        cells = split_record(line) if line.strip() else []
        if len(cells) < _WIDTH:
            damaged += bool(cells)
            continue
        text, source = ",".join(cells[2 : len(cells) - 5]), cells[-1]
        numbers = integers([*cells[:2], *cells[len(cells) - 5 : -1]]).tolist()
        if text.startswith("; "):
            labels.append((text.removeprefix("; "), source))
        elif MISSING in numbers[:2]:
            damaged += 1
        else:
            code, address, hits, latency, stall, _idle = (max(0, n) for n in numbers)
            found.append(
                TracedInstruction(
                    line=len(found) + 1,
                    text=text,
                    code_object=code,
                    address=address,
                    source=source_chain(source),
                    hits=hits,
                    lanes=0,
                    latency=float(latency),
                    stall=float(stall),
                )
            )
    if not found:
        raise ValueError("no instruction is in it")
    mangled, name = labels[0] if labels else ("", "")
    trace = Trace(
        int(match[2]) if match else None,
        mangled,
        name,
        tuple(found),
        False,
        agent=int(match[1]) if match else None,
    )
    return Recorded(traces=[trace], notes=[f"{damaged} rows are cut short and left out"] if damaged else [])
