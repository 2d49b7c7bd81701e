"""`hipscope sweep`: programs, inputs, devices and rules as tasks on a cluster, and what came of them as a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import named_path
from hipscope.server.console.terminal import failures_reported, progress_shown, say, text_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipscope.server.sweep.tasks import Row

_SHOWN = 40


def sweep(
    specification: Annotated[
        Path, typer.Argument(parser=named_path, metavar="SPEC.toml", help="What to do; see docs/sweep.md.")
    ],
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes of the local cluster; left out: one for each core."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A dask scheduler that is there, such as tcp://host:8786.",
        ),
    ] = None,
    slurm: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="JOBS",
            help="Work in so many jobs of SLURM, with dask-jobqueue's settings.",
        ),
    ] = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Serve dask's page of progress on this machine.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            parser=named_path,
            metavar="FILE",
            help="Write all rows as a table to this file: .csv or .parquet.",
        ),
    ] = None,
) -> None:
    """Profile or optimize many programs with many inputs on many devices, on a local or another dask cluster."""
    with failures_reported():
        from hipscope.analysis.errors import UsageError
        from hipscope.analysis.system.cores import usable_cores
        from hipscope.server.console.tables import check_table, write_table
        from hipscope.server.sweep import cluster
        from hipscope.server.sweep.specification import read_sweep

        if sum(one is not None for one in (workers, scheduler, slurm)) > 1:
            raise UsageError("--workers, --scheduler and --slurm are three ways", "name one of them")
        where = cluster.Where(workers or usable_cores(), scheduler, slurm, dashboard)
        cluster.check_cluster_tools(where)
        if output is not None:
            check_table(output, [specification], "scale")
        asked = read_sweep(specification)
        with progress_shown() as progress:

            def done(number: int, of: int) -> None:
                progress(f"{number} of {of} tasks", number / of)

            rows = cluster.sweep(asked, where, done, say)
        if output is not None:
            write_table(cluster.frame(rows), output)
        _draw(rows)
        if failed := sum(row["error"] is not None for row in rows):
            sys.stderr.write(f"hipscope: {failed} of {len(asked.tasks)} tasks failed\n")
            raise typer.Exit(4)


def _draw(rows: Sequence[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    from hipscope.server.render.words import duration

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("program", "arguments", "device", "kernel", "time", "what"):
        table.add_column(name, justify="right" if name == "time" else "left")
    for row in rows[:_SHOWN]:
        gain = (
            ""
            if row["speedup"] is None
            else f", {row['speedup']:.2f}x, program {row['program_speedup'] or 1:.2f}x"
        )
        what = row["error"] or (
            f"{row['rule']}: {row['status']}{gain}" if row["rule"] else row["bound"] or ""
        )
        time = "" if row["time_ns"] is None else duration(row["time_ns"])
        cells = (row["program"], row["arguments"] or "", row["device"] or "", row["kernel"] or "", time, what)
        table.add_row(*map(Text, map(str, cells)))
    console = text_console(sys.stdout, None)
    console.print(table)
    if len(rows) > _SHOWN:
        console.print(Text(f"and {len(rows) - _SHOWN} rows more: -o FILE writes all"))
