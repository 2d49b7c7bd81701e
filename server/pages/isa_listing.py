"""The machine code of kernels beside their source: runs of instructions of the same line, within a budget of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any

from hipscope.server.reports.schema.isa import IsaInstruction, IsaReport

_PAGE_BYTES = 1_000_000  # of a page: the costliest kernels have their machine code
_MOST_INSTRUCTIONS = 1500  # of one kernel
_INSTRUCTION_BYTES = 40  # of markup around each one
_SHOWN = 0.0005  # of its kernel's cycles: a smaller share is left blank


def isa_listings(
    code: Mapping[str, IsaReport], kernels: Sequence[tuple[str, str, str]]
) -> dict[str, dict[str, Any]]:
    """The machine code of kernels by id, the first ones as far as the page's budget goes. `kernels`: their ids, mangled
    names and files.
    """
    found: dict[str, dict[str, Any]] = {}
    left = _PAGE_BYTES
    for name, mangled, file in kernels:
        report = code.get(mangled)
        if report is None or not report.instructions:
            continue
        listing = report.instructions[:_MOST_INSTRUCTIONS]
        left -= sum(len(one.text) + _INSTRUCTION_BYTES for one in listing)
        if left < 0:
            break
        runs = [
            {
                "id": f"{name}-i{number}",
                "line": line if place == file else "",
                "where": ""
                if place == file
                else f"{PurePath(place).name}:{line}"
                if place
                else "no source line",
                "rows": [
                    {"share": one.share if one.share >= _SHOWN else None, "text": one.text} for one in run
                ],
            }
            for number, ((place, line), run) in enumerate(_runs(listing))
        ]
        found[name] = {"runs": runs, "left_out": len(report.instructions) - len(listing)}
    return found


def _runs(listing: Sequence[IsaInstruction]) -> list[tuple[tuple[str, int], list[IsaInstruction]]]:
    return [(place, list(run)) for place, run in groupby(listing, key=lambda one: (one.file, one.line))]
