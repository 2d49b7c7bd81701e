"""`hipscope show`: captures of any tool, and saved reports, without building or running anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import FindingsFormatOption, Format, OutputOption, named_path
from hipscope.server.console.results import check_format, failure_written, write_result
from hipscope.server.console.terminal import check_output, failures_reported, progress_shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from hipscope.server.jobs.opening import Opened, SavedReport
    from hipscope.server.reports.schema.profile import Report


def show(
    paths: Annotated[
        list[Path],
        typer.Argument(
            parser=named_path,
            metavar="PATH...",
            help="Captures of rocprofv3, rocprofiler-compute, Omniprobe or ncu: folders or files. Or a saved report "
            "(JSON; - for standard input).",
        ),
    ],
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="NAME", help="Show this kernel only."),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="How many kernels to show.")] = None,
    source_root: Annotated[
        list[Path] | None,
        typer.Option(
            "--source-root",
            parser=named_path,
            metavar="DIR",
            help="Where the profiled sources are; the current directory when none is named.",
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            metavar="GROUP",
            help="What the hardware counters say: all, or work, units, mix, waves, launch, lds, l1, l2, memory, fetch, "
            "spill, intensity.",
        ),
    ] = None,
    line: Annotated[
        str | None,
        typer.Option("--line", metavar="FILE:LINE", help="Explain this source line only."),
    ] = None,
    isa: Annotated[
        bool,
        typer.Option(
            "--isa",
            help="Show the machine code of a kernel, of --kernel or the longest, with what each instruction costs.",
        ),
    ] = False,
    format: FindingsFormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Show captures of any tool, or a saved report. Builds and runs nothing."""
    with failures_reported():
        check_format(format)
        check_output(output, paths)
        _check_views(metrics, line, format, isa=isa)
        from hipscope.analysis.run import Run
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.jobs.opening import OpenRequest, of_kernels, open_report
        from hipscope.server.reports.schema.profile import Report

        roots = tuple(source_root) if source_root else (Path.cwd(),)
        with failure_written(paths[0], format, output):
            # Nothing is built or run: a signal ends the reading where it is.
            with progress_shown() as progress:
                asked = OpenRequest(tuple(paths), roots, keep_isa=isa or format is Format.HTML)
                opened = open_report(asked, Run(progress=progress, texts=SourceTexts()))
            if kernel is not None and isinstance(opened.report, Report):
                opened = replace(opened, report=of_kernels(opened.report, kernel))
        if metrics is not None:
            _write_metrics(opened.report, metrics, top, format, output)
        elif isa:
            _write_isa(opened, format, output)
        elif line is not None:
            _write_line(opened.report, line, output)
        else:
            write_result(opened.report, _drawing(opened, top), format, output, opened.texts, code=opened.code)


def _check_views(metrics: str | None, line: str | None, format: Format, *, isa: bool) -> None:
    """Raises UsageError for two views at once, and for forms that a single view does not have."""
    from hipscope.analysis.errors import UsageError

    asked = [
        name
        for name, given in (("--metrics", metrics is not None), ("--line", line is not None), ("--isa", isa))
        if given
    ]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} are views of their own", "ask for one of them")
    forms = {"--line": (Format.TEXT,), "--isa": (Format.TEXT, Format.JSON)}
    if asked and format not in forms.get(asked[0], (format,)):
        raise UsageError(
            f"{asked[0]} is not written as {format.value}",
            "the page of --format html has all lines and the machine code",
        )


def _of_profile(report: SavedReport) -> Report:
    from hipscope.analysis.errors import UsageError
    from hipscope.server.reports.schema.profile import Report

    if not isinstance(report, Report):
        raise UsageError("lines and machine code are of a profile, and this report is of something else")
    return report


def _write_line(report: SavedReport, place: str, output: Path | None) -> None:
    from rich.text import Text

    from hipscope.server.render.blocks import to_plain
    from hipscope.server.render.views.saved_views import line_blocks

    profile = _of_profile(report)
    text = to_plain(line_blocks(profile, place))
    write_result(profile, lambda console: console.print(Text(text)), Format.TEXT, output)


def _write_isa(opened: Opened, format: Format, output: Path | None) -> None:
    from rich.text import Text

    from hipscope.analysis.errors import UsageError
    from hipscope.server.render.views.saved_views import isa_lines
    from hipscope.server.reports.isa_store import kept_isa

    report = _of_profile(opened.report)
    if not report.kernels:
        raise UsageError("the profile has no kernel")
    kernel = report.kernels[0]
    code = opened.code.get(kernel.mangled) or kept_isa(report, kernel.mangled)
    if code is None or not code.instructions:
        raise UsageError(
            f"the machine code of {report.short_name(kernel)} is not in this profile",
            "`hipscope profile ... -o run.json` keeps it on the machine that profiles; a thread trace has it",
        )
    lines = isa_lines(code)
    write_result(code, lambda console: console.print(Text("\n".join(lines)), soft_wrap=True), format, output)


def _write_metrics(
    report: SavedReport, group: str, top: int | None, format: Format, output: Path | None
) -> None:
    from hipscope.analysis.errors import UsageError
    from hipscope.server.render.metrics import render_metrics
    from hipscope.server.reports.metrics_writer import metrics_report
    from hipscope.server.reports.schema.profile import Report

    if not isinstance(report, Report):
        raise UsageError("metrics are of a profile, and this report is of something else", "name a capture")
    found = metrics_report(report, group)
    write_result(found, lambda console: render_metrics(found, console, top), format, output)


def _drawing(opened: Opened, top: int | None) -> Callable[[Console], None]:
    """The function that draws the report."""

    def draw(console: Console) -> None:
        _draw(opened.report, opened, console, top)

    return draw


def _draw(report: SavedReport, opened: Opened, console: Console, top: int | None) -> None:
    from rich.text import Text

    from hipscope.server.render.check import render_check
    from hipscope.server.render.text import render_optimization, render_profile
    from hipscope.server.reports.schema.check import CheckReport
    from hipscope.server.reports.schema.profile import Report
    from hipscope.server.reports.schema.programs import ProgramsReport

    if isinstance(report, Report):
        render_profile(report, console, opened.texts, top)
    elif isinstance(report, CheckReport):
        render_check(report, console, opened.texts)
    elif isinstance(report, ProgramsReport):
        for program in report.programs:
            console.print(Text(f"{program.source}", "bold underline"))
            if program.report is not None:
                _draw(program.report, opened, console, top)
            if program.error is not None:
                console.print(Text(f"failed: {program.error.message}", "red"))
            console.print()
    else:
        render_optimization(report, console, verbose=True)
