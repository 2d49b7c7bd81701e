"""Each profile and each optimization becomes a row of its project's history, once its result has been written.

Takes records and where they were written. A history that cannot be kept costs one line, never the command.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.server.console.options import Format
from hipscope.server.console.terminal import printable, say

if TYPE_CHECKING:
    import pandas

    from hipscope.server.reports.schema.optimize import Optimization
    from hipscope.server.reports.schema.profile import Report


def keep(reports: Iterable[tuple[Path, Report | Optimization]], format: Format, output: Path | None) -> None:
    """Add the report of each program to its project's history, unless its settings say no."""
    from hipscope.analysis.errors import HipscopeError
    from hipscope.server.reports.history_writer import keep_report

    saved = output if format is Format.JSON and output is not None and output.is_file() else None
    for target, report in reports:
        try:
            keep_report(target, report, saved)
        except (HipscopeError, OSError) as failure:
            why = failure.message if isinstance(failure, HipscopeError) else failure
            say(f"hipscope: not in the history: {printable(str(why))}")
            return


def lost_before(target: Path) -> dict[str, str]:
    """The searches of a program that found nothing, by digest; none where no history can be read."""
    from hipscope.analysis.errors import HipscopeError
    from hipscope.analysis.history import store
    from hipscope.server.reports.history_writer import keeps_history

    try:
        return store.lost_searches(store.project_of(target)) if keeps_history(target) else {}
    except (HipscopeError, OSError):
        return {}


def write_history_page(found: pandas.DataFrame, path: Path) -> None:
    """The page of a history's frame. Raises CannotWrite."""
    from hipscope.server.console.tables import write_bytes
    from hipscope.server.pages.history import history_page

    write_bytes(history_page(found).encode(), path)
