"""`hipscope history` and `hipscope attempts`: saved reports by commit, and what was tried on kernels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import failures_reported, text_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas

    from hipscope.analysis.history.store import AttemptRow, HistoryEntry, KernelRow

_BAR = 16
_PAGE = ".html"

Project = Annotated[
    Path, typer.Option("--project", parser=named_path, metavar="DIR", help="The project's folder.")
]
KernelOption = Annotated[str | None, typer.Argument(metavar="[KERNEL]", help="Only this kernel.")]


def history(
    kernel: KernelOption = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option(
            "--add",
            parser=named_path,
            metavar="REPORT",
            help="Add a saved report of profile or optimize (-o) at the commit that is checked out.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            parser=named_path,
            metavar="FILE",
            help="Write all rows as a table to this file: .csv or .parquet; .html: a page.",
        ),
    ] = None,
    importance: Annotated[
        bool, typer.Option("--importance", help="Show which counters explain the time; from eight runs on.")
    ] = False,
    project: Project = Path(),
) -> None:
    """Show the time of a project's kernels by commit: of its profiles, and of saved reports that are added."""
    with failures_reported():
        from hipscope.analysis.history import store

        project = store.project_of(project, project)
        if importance:
            from hipscope.analysis.history.importance import check_importance_tools

            check_importance_tools()
        if output is not None:
            _check_output(output, reports or ())
        for report in reports or ():
            _add(project, report)
        if output is not None:
            _write(_frame(project, kernel), output)
            return
        if importance:
            _draw_importance(project, kernel)
            return
        rows = [(e, r) for e, r in store.kernel_rows(project) if _is(kernel, r.kernel, r.mangled)]
        if rows:
            _draw(rows)
        elif not reports:
            sys.stdout.write(f"{_why_none(project, kernel)}\n")


def _why_none(project: Path, kernel: str | None) -> str:
    from hipscope.analysis.history import store

    names = sorted({row.kernel for _, row in store.kernel_rows(project)})
    if kernel is None or not names:
        return (
            f"no profile of {project} was kept: profile one of its programs, or add a saved report with --add"
        )
    return f"no profile of {project} has a kernel {kernel}: they have {', '.join(names)}"


def attempts(kernel: KernelOption = None, project: Project = Path()) -> None:
    """Show what was tried on a project's kernels, what it gained and why it was refused."""
    with failures_reported():
        from hipscope.analysis.history import store

        project = store.project_of(project, project)
        rows = [(e, r) for e, r in store.attempt_rows(project) if _is(kernel, r.kernel, "")]
        if rows:
            _draw_attempts(rows)
        else:
            sys.stdout.write(f"nothing was tried in {project} yet: hipscope optimize PROGRAM\n")


def _check_output(path: Path, inputs: Sequence[Path]) -> None:
    """Raises UsageError or MissingTool for a file that could not be written in the end."""
    from hipscope.server.console.options import Format
    from hipscope.server.console.results import check_format
    from hipscope.server.console.tables import check_table
    from hipscope.server.console.terminal import check_output

    if path.suffix == _PAGE:
        check_format(Format.HTML)
        check_output(path, inputs)
    else:
        check_table(path, inputs, "history")


def _write(found: pandas.DataFrame, path: Path) -> None:
    """All columns of the rows, as a file. Raises CannotWrite."""
    from hipscope.server.console.history_rows import write_history_page
    from hipscope.server.console.tables import write_table

    if path.suffix == _PAGE:
        write_history_page(found, path)
    else:
        write_table(found, path)


def _frame(project: Path, kernel: str | None) -> pandas.DataFrame:
    """The history's frame, or its rows of one kernel."""
    from hipscope.analysis.history.frames import frame

    found = frame(project)
    names = zip(found["kernel"], found["mangled"], strict=True)
    return found if kernel is None else found[[_is(kernel, *pair) for pair in names]]


def _draw_importance(project: Path, kernel: str | None) -> None:
    """The counters that explain each kernel's time, or why none is named."""
    from rich.table import Table
    from rich.text import Text

    from hipscope.analysis.history.importance import importance
    from hipscope.server.render.words import bar, percent, plural, three

    console = text_console(sys.stdout, None)
    answers = importance(_frame(project, kernel))
    if not answers:
        sys.stdout.write(f"no profile of {project} has counters of {kernel or 'a kernel'}\n")
    for one in answers:
        console.print(
            Text(f"{one.kernel}  {one.provenance}, {one.device}, {plural(one.runs, 'run', 'runs')}", "bold")
        )
        console.print(Text(one.words))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("counter", "importance", "", "moves with time", "from", "to", "what it is"):
            table.add_column(name, justify="right" if name in ("moves with time", "from", "to") else "left")
        for own in one.counters:
            also = f"; as {len(own.alike)} others do" if own.alike else ""
            cells = (own.name, percent(own.importance), bar(own.importance, _BAR), f"{own.correlation:+.2f}")
            what = f"{own.meaning or 'counter'}{f' ({own.unit})' if own.unit else ''}{also}"
            table.add_row(*map(Text, (*cells, three(own.lowest), three(own.highest), what)))
        if one.counters:
            console.print(table)
        console.print()


def _is(wanted: str | None, name: str, mangled: str) -> bool:
    from hipscope.analysis.source.kernel_definitions import base_name

    return wanted is None or wanted in (name, mangled, base_name(name))


def _add(project: Path, path: Path) -> None:
    """Add one saved report. Raises HipscopeError."""
    from hipscope.analysis.errors import UsageError
    from hipscope.analysis.history import store
    from hipscope.analysis.run import Run
    from hipscope.server.jobs.opening import OpenRequest, open_report
    from hipscope.server.reports.history_writer import history_rows

    report = open_report(OpenRequest((path,), (project,)), Run()).report
    found = history_rows(report, path, project, store.commit_of(project))
    if found is None:
        raise UsageError(f"{path}: not a saved profile or optimization", "save one with -o run.json")
    if not store.add(project, *found):
        sys.stderr.write(f"{path} is there already\n")


def _draw(rows: Sequence[tuple[HistoryEntry, KernelRow]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hipscope.server.render.words import bar, duration, interval

    console = text_console(sys.stdout, None)
    for mangled, file in dict.fromkeys((row.mangled, row.file) for _, row in rows):
        own = [(entry, row) for entry, row in rows if (row.mangled, row.file) == (mangled, file)]
        longest = max((row.time_ns or 0.0 for _, row in own), default=0.0)
        table = Table(
            box=None,
            pad_edge=False,
            padding=(0, 1),
            title=Text(own[0][1].kernel + (f"  {file}" if file else "")),
            title_justify="left",
        )
        for name in ("commit", "when", "time", "", "kind", "VGPRs"):
            table.add_column(name, justify="right" if name in ("time", "VGPRs") else "left", no_wrap=True)
        for entry, row in own:
            table.add_row(
                Text(_commit(entry)),
                entry.time[:16].replace("T", " "),
                duration(row.time_ns) + interval(row.time_ns_low, row.time_ns_high),
                bar((row.time_ns or 0.0) / longest if longest else 0.0, _BAR),
                f"{entry.provenance}, {entry.device}",
                "" if row.vgprs is None else str(row.vgprs),
            )
        console.print(table)


def _draw_attempts(rows: Sequence[tuple[HistoryEntry, AttemptRow]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for name in ("commit", "kernel", "tried", "outcome", "gain", "why"):
        table.add_column(name)
    for entry, row in rows:
        gain = "" if row.speedup is None else f"{row.speedup:.2f}x"
        cells = (_commit(entry), row.kernel, row.title or row.formula, row.outcome, gain, row.reason)
        table.add_row(*map(Text, cells))
    text_console(sys.stdout, None).print(table)


def _commit(entry: HistoryEntry) -> str:
    return (entry.commit_id or "no commit") + ("+" if entry.dirty else "")
