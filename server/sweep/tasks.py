"""One task of a sweep, as a worker does it: rows of plain values, kept by content so that a rerun does nothing twice.

A failure of a program is a row; nothing that a program prints or does ends the sweep.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import Cancelled, HipscopeError
from hipscope.analysis.run import Run
from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.analysis.system.file_digests import file_digest
from hipscope.server.sweep.blobs import Blob, unpacked
from hipscope.server.sweep.specification import SweepTask

Row = dict[str, Any]
COLUMNS = (
    "program",
    "arguments",
    "device",
    "rule",
    "kernel",
    "provenance",
    "time_ns",
    "share",
    "dispatches",
    "bound",
    "vgprs",
    "spills",
    "occupancy",
    "findings",
    "status",
    "speedup",
    "program_speedup",
    "error",
)
_EMPTY: Row = dict.fromkeys(COLUMNS)


Fresh = Callable[[SweepTask], tuple[dict[str, str], list[Row]]]
"""Does a task: the digests of all files that it read, and its rows."""


def do_task(task: SweepTask, files: Blob | None = None) -> list[Row]:
    """The rows of a task: a profile, or a search for a rewrite where it has a rule. `files` are those that it is of."""
    fresh = _searched if task.rule is not None else _profiled
    if files is None:
        return once(task, fresh)
    folder = unpacked(files)
    return once(task, lambda task: fresh(replace(task, program=str(folder / task.program))))


def once(task: SweepTask, fresh: Fresh) -> list[Row]:
    """The rows that are kept where all that the task read is the same, else `fresh` ones, kept before they are given: a
    worker that is killed later takes nothing with it.
    """
    kept = cache_directory() / "sweep" / f"{task.key}.json"
    if (known := _known(kept)) is not None:
        return known
    try:
        files, rows = fresh(task)
    except Cancelled:
        raise
    except HipscopeError as failure:
        return [row_of(task, error=failure.message)]
    with contextlib.suppress(OSError):  # a full disk only loses the convenience
        write_atomically(kept, json.dumps({"files": files, "rows": rows}).encode())
    return rows


def _known(kept: Path) -> list[Row] | None:
    try:
        data = json.loads(kept.read_text(encoding="utf-8"))
        files: Mapping[str, str] = data["files"]
        rows = [_EMPTY | row for row in data["rows"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return rows if all(file_digest(name) == digest for name, digest in files.items()) else None


def _profiled(task: SweepTask) -> tuple[dict[str, str], list[Row]]:
    from hipscope.server.jobs import tasks
    from hipscope.server.jobs.opening import of_kernels

    report = tasks.profile(_request(task), Run())
    files = dict(report.inputs.files)
    if (why := report.failure()) is not None:
        return files, [row_of(task, error=why)]
    shown = report if task.kernel is None else of_kernels(report, task.kernel)
    return files, [
        row_of(
            task,
            kernel=shown.short_name(kernel),
            provenance=report.provenance,
            device=report.device.name,
            time_ns=kernel.time_ns,
            share=kernel.share,
            dispatches=kernel.dispatches,
            bound=kernel.bound,
            vgprs=kernel.resources.vgprs,
            spills=kernel.resources.vgpr_spills,
            occupancy=kernel.occupancy.theoretical if kernel.occupancy is not None else None,
            findings=" ".join(
                sorted({f.formula for f in report.findings if kernel.mangled in f.mangled_names})
            ),
        )
        for kernel in shown.kernels
    ]


def _searched(task: SweepTask) -> tuple[dict[str, str], list[Row]]:
    from hipscope.server.jobs import tasks

    judged = tasks.judge(_request(task), Run(), file=None, new_text=None)
    found = judged.outcome
    row = row_of(
        task,
        kernel=found.kernel or task.kernel,
        provenance=found.provenance,
        time_ns=found.before.time_ns if found.before is not None else None,
        status=found.status,
        speedup=found.speedup,
        program_speedup=found.gpu_speedup,
    )
    return dict(judged.files), [row]


def _request(task: SweepTask) -> Any:
    from hipscope.server.jobs import tasks

    return tasks.TaskRequest(
        Path(task.program),
        task.arguments,
        backend=task.backend,
        device=task.device,
        kernel=task.kernel,
        formula=task.rule,
        rewriter="recipes" if task.rule is not None else None,
    )


def row_of(task: SweepTask, **values: object) -> Row:
    """A row of a task with these values; what is not known is None."""
    own = {
        "program": Path(task.program).name,
        "arguments": " ".join(task.arguments),
        "device": task.device,
        "rule": task.rule,
        "kernel": task.kernel,
    }
    return {**_EMPTY, **own, **values}
