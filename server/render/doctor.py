"""The tools of this machine in a terminal: what is there, what it is for, and how to get what is not.

The check of its GPU, too: a line for each step, and six kernels beside the emulator's.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hipscope.analysis.runs.doctor import Tool, works
from hipscope.analysis.runs.gpu_check import ComparedKernel, GpuCheck, GpuStep
from hipscope.server.reports.schema.machine.doctor import (
    ComparedCounterRow,
    ComparedKernelRow,
    DoctorReport,
    GpuCheckReport,
    GpuStepRow,
    RecordedFileRow,
    ToolRow,
)

_MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("–", "yellow")}
_STEP_MARKS = {"ok": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("–", "yellow")}
_FAR = 1.25  # a counter that differs by more is shown


def doctor_report(tools: Sequence[Tool], program: str | None) -> DoctorReport:
    """The record of what was found; `program` is the sentence about a program's libraries."""
    rows = tuple(ToolRow(**dataclasses.asdict(tool)) for tool in tools)
    return DoctorReport(works(tools), rows, program)


def render_tools(tools: Sequence[Tool], console: Console) -> None:
    """Print one row per tool, and under each missing one the command that brings it."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2))
    table.add_column("")
    table.add_column("tool", no_wrap=True)
    table.add_column("what works with it")
    table.add_column("version and place", overflow="fold")
    for tool in tools:
        mark, colour = _MARKS[tool.status]
        place = " ".join(part for part in (tool.version, tool.path) if part)
        table.add_row(Text(mark, colour), Text(tool.name), Text(tool.enables), Text(place or tool.fix))
        if place and not tool.found and tool.fix:
            table.add_row("", "", "", Text(tool.fix, colour))
    console.print(table)


def gpu_check_report(check: GpuCheck) -> GpuCheckReport:
    """The record of a check, with its own text."""
    try:
        own = version("hipscope")
    except PackageNotFoundError:
        own = ""
    plain = Console(file=io.StringIO(), width=200, color_system=None)
    with plain.capture() as captured:
        render_gpu_check(check, plain)
    return GpuCheckReport(
        works=check.works,
        hipscope=own,
        gpus=check.gpus,
        tool=check.tool,
        modelled=check.modelled,
        seconds=check.seconds,
        steps=tuple(_step_row(step) for step in check.steps),
        kernels=tuple(_kernel_row(kernel) for kernel in check.kernels),
        text=tuple(line.rstrip() for line in captured.get().splitlines()),
    )


def render_gpu_check(check: GpuCheck, console: Console) -> None:
    """Print a line for each step, with its command, and a line for each kernel."""
    for step in check.steps:
        mark, colour = _STEP_MARKS[step.status]
        console.print(Text(f"{mark} ", colour), Text(f"{step.name}: {step.said}"), sep="", soft_wrap=True)
        for line in _details(step):
            console.print(Text(f"    {line}", "dim"), soft_wrap=True)
    if check.kernels:
        console.print(Text(f"\nmedian launch, measured on {check.gpus[0]} and modelled as {check.modelled}"))
    for kernel in check.kernels:
        console.print(Text(f"  {kernel.kernel:<18}{_times(kernel)}"), soft_wrap=True)
        for line in _counters(kernel):
            console.print(Text(f"      {line}", "dim"), soft_wrap=True)
    failed = [step.name for step in check.steps if step.status == "failed"]
    ending = f"failed: {', '.join(failed)}" if failed else "all that is installed works"
    console.print(Text(f"\n{ending} ({check.seconds:g} s)"), soft_wrap=True)


def _details(step: GpuStep) -> Iterator[str]:
    if step.command:
        ended = "did not end" if step.exit_code is None else f"exit code {step.exit_code}"
        yield f"{step.command}   [{ended}, {step.seconds:g} s]"
    for file in step.files:
        columns = f"{len(file.columns)} columns" if file.columns else "no columns"
        yield f"{file.path}   {file.bytes:,} bytes, {columns}"


def _times(kernel: ComparedKernel) -> str:
    measured, modelled = kernel.measured_ns, kernel.modelled_ns
    if measured is None or modelled is None:
        return "not on both"
    return f"{measured / 1000:10.2f} us {modelled / 1000:10.2f} us   {modelled / measured:.2f}x"


def _counters(kernel: ComparedKernel) -> Iterator[str]:
    """How many counters agree, and those that do not."""
    far = [c for c in kernel.counters if not _near(c.measured, c.modelled)]
    if kernel.counters:
        yield f"{len(kernel.counters) - len(far)} of {len(kernel.counters)} counters within {_FAR - 1:.0%}"
    for counter in far:
        yield f"{counter.name}: {counter.measured:,.0f} measured, {counter.modelled:,.0f} modelled"


def _near(measured: float, modelled: float) -> bool:
    low, high = sorted((measured, modelled))
    return high == low or (low > 0 and high / low <= _FAR)


def _step_row(step: GpuStep) -> GpuStepRow:
    files = tuple(RecordedFileRow(file.path, file.bytes, file.columns) for file in step.files)
    return GpuStepRow(step.name, step.status, step.said, step.command, step.exit_code, step.seconds, files)


def _kernel_row(kernel: ComparedKernel) -> ComparedKernelRow:
    counters = tuple(ComparedCounterRow(c.name, c.measured, c.modelled) for c in kernel.counters)
    return ComparedKernelRow(kernel.kernel, kernel.measured_ns, kernel.modelled_ns, counters)
