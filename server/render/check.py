"""Sanitizer reports in a terminal: one paragraph each, both source lines with their text.

Takes the `hipscope.check/1` record, writes to a rich console.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.render.notes import print_note, short_path
from hipscope.server.render.words import plural
from hipscope.server.reports.schema.check import CheckReport, CodePosition, DefectReport, DefectSite
from hipscope.server.session.check_problems import second_place


def render_check(report: CheckReport, console: Console, texts: SourceTexts) -> None:
    """Print the reports in the order in which they were first seen, then one line with their number."""
    for found in report.reports:
        _print_report(found, console, texts)
    for note in report.notes:
        print_note(note, console)
    if report.notes:
        console.print()
    for fault in report.faults:
        what = "launch refused" if fault.refused else "fault"
        console.print(Text(f"{what}: {fault.message}", "bold red"))
        console.print(Text(f"  in {fault.kernel}{_at(fault.position)}\n"))
    if report.failure:
        console.print(Text(f"{report.failure}.", "yellow"))
    if report.left_out:
        console.print(Text(f"{report.left_out} more reports were left out.", "yellow"))
    console.print(Text(summary(report), "bold" if report.reports or report.notes else "green"))


def summary(report: CheckReport) -> str:
    """`2 defects in 3 dispatches: data-race 1, misaligned 1`, or that there is none."""
    dispatches = plural(report.dispatches, "dispatch", "dispatches")
    reports = report.reports
    if not reports and not report.notes:
        return f"No defect in {dispatches}."
    kinds: dict[str, int] = {}
    for kind in (*(found.defect for found in reports), *(note.code for note in report.notes)):
        kinds[kind] = kinds.get(kind, 0) + 1
    named = ", ".join(f"{kind} {number}" for kind, number in kinds.items())
    return f"{plural(len(reports) + len(report.notes), 'defect', 'defects')} in {dispatches}: {named}."


def who(place: DefectSite) -> str:
    """`workgroup (3, 0, 0), thread (17, 0, 0)`, or the wave when the whole wave is meant."""
    group = "({}, {}, {})".format(*place.workgroup)
    if place.thread is None:
        return f"workgroup {group}, wave {place.wave}"
    return f"workgroup {group}, thread " + "({}, {}, {})".format(*place.thread)


def _print_report(found: DefectReport, console: Console, texts: SourceTexts) -> None:
    times = f" ({found.count} times)" if found.count > 1 else ""
    console.print(Text(f"{found.defect}: ", "bold red") + Text(found.message + times, "bold"))
    console.print(Text(f"  kernel {found.kernel}, dispatch {found.dispatch}"))
    _print_place(found.at, "", console, texts)
    if found.other is not None:
        _print_place(found.other, second_place(found) + ": ", console, texts)
    allocation = found.allocation
    if allocation is not None:
        for what, chain in (
            ("allocated", allocation.allocated_at),
            ("freed", allocation.freed_at),
        ):
            if chain:
                console.print(Text(f"  {what}{_at(chain[0])}"))
    console.print()


def _print_place(place: DefectSite, what: str, console: Console, texts: SourceTexts) -> None:
    console.print(Text(f"  {what}{_at(place).strip() or place.instruction}, {who(place)}"))
    if place.file and place.line and (line := texts.shown(place.file, place.line)):
        console.print(Text(f"    {line}", "cyan"))
    shown = (place.file, place.line)
    for level in place.chain:
        if (level.file, level.line) != shown:
            console.print(Text(f"    {level.function or '?'}{_at(level)}", "dim"))


def _at(place: DefectSite | CodePosition | None) -> str:
    if place is None or not place.file:
        return ""
    return f" at {short_path(place.file)}:{place.line}"
