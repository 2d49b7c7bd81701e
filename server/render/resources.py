"""What kernels need in a terminal: a row per kernel and instance, the next step of occupancy, then the notes.

Takes the `hipscope.resources/1` record, writes to a rich console.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hipscope.analysis.source.kernel_definitions import instance_name
from hipscope.server.render.notes import print_note
from hipscope.server.reports.schema.resources import KernelResources, ResourcesReport, SourceResources

_HEADINGS = ("kernel", "VGPR", "AGPR", "SGPR", "spills", "scratch", "LDS", "waves", "limited by")


def render_resources(report: ResourcesReport, console: Console) -> None:
    """Print all programs, then the limits that were passed."""
    for source in report.sources:
        if len(report.sources) > 1:
            console.print(Text(source.source, "bold underline"))
        if source.error is not None:
            console.print(Text(f"failed: {source.error.message}", "red"))
            for note in source.notes:
                print_note(note, console)
            console.print()
            continue
        _print_source(source, report, console)
    for line in report.exceeded:
        console.print(Text(f"limit passed: {line}", "bold red"))


def _print_source(source: SourceResources, report: ResourcesReport, console: Console) -> None:
    console.print(Text(f"Compiled for {report.device} ({report.arch}), not run.", "dim"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(_HEADINGS):
        last = number == len(_HEADINGS) - 1
        table.add_column(heading, justify="left" if number == 0 or last else "right", overflow="fold")
    for kernel in source.kernels:
        table.add_row(*(Text(cell) for cell in _cells(kernel)))
    console.print(table)
    steps = [line for kernel in source.kernels if (line := _step(kernel))]
    for line in steps:
        console.print(Text(line), soft_wrap=True)
    if any(kernel.threads_from == "assumed" for kernel in source.kernels):
        console.print(
            Text("*: with workgroups of 256 threads; the text does not say how large they are.", "dim")
        )
    if source.notes:
        console.print()
    for note in source.notes:
        print_note(note, console)
    if source.left_out:
        console.print(Text(f"Left out: {source.left_out}.", "yellow"), soft_wrap=True)
    console.print()


def _cells(kernel: KernelResources) -> tuple[str, ...]:
    starred = "*" if kernel.threads_from == "assumed" else ""
    spills = str(kernel.vgpr_spills) + (f"+{kernel.sgpr_spills} SGPR" if kernel.sgpr_spills else "")
    return (
        instance_name(kernel.name),
        str(kernel.vgprs),
        str(kernel.agprs),
        str(kernel.sgprs),
        spills,
        f"{kernel.scratch:,}",
        f"{kernel.lds:,}",
        f"{kernel.waves:g}/{kernel.max_waves}{starred}",
        kernel.limiter,
    )


def _step(kernel: KernelResources) -> str:
    """`scale<float>: 128 -> 96 VGPRs gives 5 waves`."""
    step = kernel.next_step
    if step is None:
        return ""
    waves = f"{step.waves:g} wave{'' if step.waves == 1 else 's'}"
    return f"{instance_name(kernel.name)}: {step.now:,} -> {step.then:,} {step.resource} gives {waves}"
