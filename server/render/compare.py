"""Two profiles side by side, as text: what became slower or faster, and what else changed of each kernel."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hipscope.server.render.words import duration
from hipscope.server.reports.schema.compare import (
    ComparedKernel,
    ComparedProgram,
    ComparedSide,
    CompareReport,
    MovedLine,
)

_RESOURCES = (
    ("vgprs", "VGPRs"),
    ("agprs", "AGPRs"),
    ("sgprs", "SGPRs"),
    ("spills", "spills"),
    ("scratch_bytes", "scratch bytes"),
    ("lds_bytes", "LDS bytes"),
    ("occupancy", "waves per SIMD"),
)
_NOTICED = 0.005  # a smaller change of the time is shown without a colour


def render_compare(report: CompareReport, console: Console) -> None:
    """Print a table for each program, then the limits that were passed."""
    for program in report.programs:
        if len(report.programs) > 1:
            console.print(Text(program.program, "bold underline"))
        if program.failed is not None:
            console.print(Text(f"not compared: {program.failed}", "red"))
            continue
        console.print(_table(program, report))
        for reason in dict.fromkeys(k.not_comparable for k in program.kernels if k.not_comparable):
            console.print(Text(f"times are not compared: {reason}", "yellow"))
    for passed in report.passed_limits:
        kernel = f"{passed.kernel} " if passed.kernel else ""
        console.print(Text(f"limit {passed.limit}: {passed.program}: {kernel}{passed.message}", "bold red"))
    if report.limits and not report.passed_limits:
        console.print(Text(f"within the limits {', '.join(report.limits)}", "green"))


def _table(program: ComparedProgram, report: CompareReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    kind = f" ({report.provenance})" if report.provenance else ""
    table.add_column("kernel")
    table.add_column(f"base{kind}", justify="right")
    table.add_column(f"head{kind}", justify="right")
    table.add_column("time", justify="right")
    table.add_column("what else")
    for kernel in program.kernels:
        sides = [duration(side.time_ns) if side is not None else "" for side in (kernel.base, kernel.head)]
        table.add_row(Text(kernel.name), *sides, _change(kernel), Text(", ".join(_notes(kernel))))
    return table


def _change(kernel: ComparedKernel) -> Text:
    if kernel.base is None:
        return Text("new", "cyan")
    if kernel.head is None:
        return Text("gone", "cyan")
    if kernel.change is None:
        return Text("")
    style = "" if abs(kernel.change) < _NOTICED else "red" if kernel.change > 0 else "green"
    return Text(f"{kernel.change:+.1%}", style)


def _notes(kernel: ComparedKernel) -> list[str]:
    """What changed beside the time, in a few words."""
    notes = [f"was {kernel.renamed}"] if kernel.renamed else []
    if (found := kernel.measured) is not None:
        notes.append(f"95 % between {found.low:+.1%} and {found.high:+.1%}")
    base, head = kernel.base, kernel.head
    if base is None or head is None:
        return notes
    if base.dispatches != head.dispatches:
        notes.append(f"launches {base.dispatches} → {head.dispatches}")
    notes += [text for field, label in _RESOURCES if (text := _moved(base, head, field, label))]
    notes += [line_words(line) for line in kernel.moved_lines]
    if base.bound != head.bound:
        notes.append(f"bound: {base.bound} → {head.bound}")
    notes += [f"+ {name}" for name in head.findings if name not in base.findings]
    notes += [f"- {name}" for name in base.findings if name not in head.findings]
    return notes


def line_words(line: MovedLine) -> str:
    """`line 12: 3.1 us → 6.2 us`, by its number in the head; a line that is new or gone says so."""
    if line.head_line is None:
        return f"line {line.base_line} of the base, {duration(line.base_ns)}: gone"
    if line.base_line is None:
        return f"line {line.head_line}: new, {duration(line.head_ns)}"
    return f"line {line.head_line}: {duration(line.base_ns)} → {duration(line.head_ns)}"


def _moved(base: ComparedSide, head: ComparedSide, field: str, label: str) -> str:
    old, new = getattr(base, field), getattr(head, field)
    return f"{label} {old:g} → {new:g}" if old is not None and new is not None and old != new else ""
