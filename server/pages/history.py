"""The page of a project's history: what each kernel took, run by run, and which counters explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.history.importance import Importance, importance
from hipscope.server.pages.page import filled

if TYPE_CHECKING:
    import pandas

_WIDTH, _HEIGHT = 640, 120
_GAP = 2
_MOST_RUNS = 200  # of a kernel, the newest


def history_page(found: pandas.DataFrame) -> str:
    """The whole page of a history's frame. Raises MissingTool."""
    missing = None
    explained: list[Importance] = []
    try:
        explained = importance(found)
    except MissingTool as tool:
        missing = f"{tool.message}: {tool.hint}"
    kernels = [
        _kernel(rows, [one for one in explained if one.mangled == mangled])
        for (mangled, _), rows in found.groupby(["mangled", "file"], sort=False)
    ]
    kernels.sort(key=lambda one: -one["latest"])
    return filled("history.html", {"kernels": kernels, "missing": missing})


def _kernel(rows: pandas.DataFrame, explained: list[Importance]) -> dict[str, Any]:
    shown = rows[
        ["kernel", "file", "commit_id", "dirty", "time", "time_ns", "provenance", "device", "vgprs", "bound"]
    ]
    runs = [
        {**row, "time_ns": row["time_ns"] if row["time_ns"] == row["time_ns"] else None}
        for row in shown.tail(_MOST_RUNS).to_dict("records")
    ]
    longest = max((run["time_ns"] or 0.0 for run in runs), default=0.0)
    width = _WIDTH / max(1, len(runs))
    bars = [
        {
            "x": round(place * width, 2),
            "width": round(max(1.0, min(width - _GAP, 40)), 2),
            "height": round((run["time_ns"] or 0.0) / longest * _HEIGHT, 2) if longest else 0,
            "run": run,
        }
        for place, run in enumerate(runs)
    ]
    first, last = runs[0], runs[-1]
    same = (first["device"], first["provenance"]) == (last["device"], last["provenance"])
    known = same and len(runs) > 1 and first["time_ns"] and last["time_ns"]
    return {
        "name": last["kernel"],
        "file": last["file"],
        "runs": runs[::-1],
        "left_out": len(rows) - len(runs),
        "bars": bars,
        "width": _WIDTH,
        "height": _HEIGHT,
        "latest": last["time_ns"] or 0.0,
        "change": last["time_ns"] / first["time_ns"] - 1.0 if known else None,
        "explained": explained,
    }
