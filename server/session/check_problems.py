"""A `hipscope.check/1` object as problems for the editor.

Takes the object, gives one problem for each report that has a source line. Light: the language server imports it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn
from hipscope.server.session.known_profiles import Problem

_SECOND = {
    "data-race": "the other access",
    "stale-read": "stored here",
    "uninitialised-read": "loaded here",
    "divergent-barrier": "where the other wave is",
}
_SHUFFLE = "ds_bpermute"  # the only one that is the other place of an uninitialised read without being a load


def second_place(row: Mapping[str, Any]) -> str:
    """What the other place of a report is."""
    if row["class"] == "uninitialised-read" and row["other"]["instruction"].startswith(_SHUFFLE):
        return "taken from another lane here"
    return _SECOND.get(row["class"], "the other place")


def check_problems(report: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Errors for reports and faults; places of allocations and second accesses are related."""
    found = []
    for row in report["reports"]:
        at, other, allocation = row["at"], row["other"], row["allocation"]
        if not at["file"]:
            continue
        related = []
        if other is not None and other["file"]:
            related.append((os.path.realpath(other["file"]), int(other["line"]), second_place(row)))
        if allocation is not None:
            for what, chain in (("allocated here", "allocated_at"), ("freed here", "freed_at")):
                if allocation[chain]:
                    place = allocation[chain][0]
                    related.append((os.path.realpath(place["file"]), int(place["line"]), what))
        times = f", {row['count']} times" if row["count"] > 1 else ""
        message = f"{row['message']} (kernel {row['kernel']}{times})"
        file = os.path.realpath(at["file"])
        found.append(
            Problem(
                file,
                int(at["line"]),
                ByteColumn(int(at["column"])),
                "error",
                message,
                row["class"],
                tuple(related),
            )
        )
    for fault in report["faults"]:
        place = fault["position"]
        if place is not None:
            file = os.path.realpath(place["file"])
            message = f"{fault['message']} (kernel {fault['kernel']})"
            found.append(Problem(file, int(place["line"]), UNKNOWN_COLUMN, "error", message, "fault"))
    return tuple(found)
