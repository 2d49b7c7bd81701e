"""The tools of this machine in a terminal: what is there, what it is for, and how to get what is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hipscope.analysis.runs.doctor import Tool, works
from hipscope.server.reports.schema.doctor import DoctorReport, ToolRow

_MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("–", "yellow")}


def doctor_report(tools: Sequence[Tool], program: str | None) -> DoctorReport:
    """The record of what was found; `program` is the sentence about a program's libraries."""
    rows = tuple(ToolRow(**dataclasses.asdict(tool)) for tool in tools)
    return DoctorReport(works(tools), rows, program)


def render_tools(tools: Sequence[Tool], console: Console) -> None:
    """Print one row per tool, and under each missing one the command that brings it."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2))
    table.add_column("")
    table.add_column("tool", no_wrap=True)
    table.add_column("what works with it")
    table.add_column("version and place", overflow="fold")
    for tool in tools:
        mark, colour = _MARKS[tool.status]
        place = " ".join(part for part in (tool.version, tool.path) if part)
        table.add_row(Text(mark, colour), Text(tool.name), Text(tool.enables), Text(place or tool.fix))
        if place and not tool.found and tool.fix:
            table.add_row("", "", "", Text(tool.fix, colour))
    console.print(table)
