"""The report in a terminal: kernels, hot lines with what they wait for, findings with their numbers, and the proof.

Writes to a rich console, which drops colours and keeps the drawing when it is not a terminal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.render.explain import bound_words, evidence_values, gain_sentence, instances_sentence
from hipscope.server.render.notes import print_defects, short_path
from hipscope.server.render.timeline import render_timeline
from hipscope.server.render.words import (
    bar,
    borders,
    duration,
    interval,
    percent,
    plural,
    reason,
    sparkline,
    top_reasons,
)
from hipscope.server.reports.schema.optimize import Optimization, Side
from hipscope.server.reports.schema.profile import Finding, Kernel, Line, Occupancy, Report
from hipscope.server.reports.schema.verdict import Verdict

DEFAULT_KERNELS = 5
_HOT_LINES = 6
_HOT_SHARE = 0.02
_TIME_OVER = "when the program's time was over"  # the emulator's words of a launch that it stopped
_CODE_WIDTH = 52
_NAME_WIDTH = 36
_WIDE = 100
_STRIP_WIDTH = 40
_GAP = 2  # columns between two of a table
_SHORT_NAME = 12  # columns that a name has at least
_WITH_BARS = 60  # from this width on, shares are drawn as well
_BAR, _SHARE, _REASONS = 12, 6, 34  # columns beside a line's code
_SHORTEST_CODE = 16
_RESOURCES = {
    "vgprs": "VGPRs",
    "agprs": "AGPRs",
    "sgprs": "SGPRs",
    "lds_bytes": "LDS bytes",
    "scratch_bytes": "scratch bytes",
    "occupancy": "waves per SIMD",
}
_CAUSES = "diagnoseOnly"  # the formula that says what hot lines without a finding do
_HELPS = ". What helps: "  # between causes and remedies of a line, as diagnoseOnly words it
_CAUSED = " of the wave time: "  # between a line's share and its causes
_PART_OF_LINE = re.compile(r" \(\d+%\)$")  # behind each cause
_HOT_LINE = 0.1  # of its kernel's wave time: such a line stands in a finding or above them
_TOLD = 8  # lines without a finding and hints, per kernel
_NO_READER = frozenset({"no reader knows it", "JSON that no reader knows"})
_NAMED = 4  # such files
_SMALL_STAKE = 0.01  # of all GPU time; findings below it are named without their numbers
_SMALL_REASON = 0.05
_MOST_ULP = 1 << 20
_REASON_COLOURS = {
    "global_memory": "red",
    "scratch_memory": "magenta",
    "scalar_memory": "bright_red",
    "lds": "yellow",
    "atomic": "bright_magenta",
    "barrier": "cyan",
    "dependency": "blue",
}

_OUTCOMES = {"accepted": ("✓", "green"), "advice": ("→", "cyan")}


def render_profile(report: Report, console: Console, texts: SourceTexts, top: int | None = None) -> None:
    """Print a profile with its `top` kernels (default: 5), and the lines of the texts that it is of."""
    shown = report.kernels[: DEFAULT_KERNELS if top is None else top]
    _print_header(report, console)
    console.print(kernel_table(report, shown, console.width) if shown else "No kernel came to its end.")
    left = len(report.kernels) - len(shown)
    if left > 0:
        rest = sum(k.share or 0.0 for k in report.kernels[len(shown) :])
        console.print(
            Text(f"  and {left} more with {percent(rest)} of GPU time (--top {len(report.kernels)})", "dim")
        )
    if report.time is not None:
        render_timeline(report.time, console)
    for kernel in shown:
        _print_hot_lines(kernel, report.short_name(kernel), console, texts)
    print_defects(report.defects, "", console)
    _print_findings(report, shown, console)
    _print_diagnoses(report, shown, console)
    _print_told(report, shown, console)
    for fault, times in Counter(report.faults).items():
        what = "launch refused of" if fault.refused else "left out in" if fault.left_out else "fault in"
        often = f" ({times} times)" if times > 1 else ""
        console.print(Text(f"\n{what} {fault.kernel}: {fault.message}{often}", "bold red"))
        if fault.file:
            console.print(Text(f"  {short_path(fault.file)}:{fault.line}  {fault.instruction or ''}"))


def render_optimization(found: Optimization, console: Console, *, verbose: bool = False) -> None:
    """Print what was found, what was tried, the change, and in one line how fast it is and what proves it.

    `verbose`: the numbers of the findings, every attempt beside the one that was verified, all that was compared.
    Without a change all attempts stand there, and what is to be known of each: beliefs that did not come true, costs.
    """
    verified = found.status == "verified"
    worked_on = [f for f in found.findings if (f.formula, f.kernel) == (found.formula, found.kernel)]
    for finding in found.findings if verbose or not verified else worked_on or found.findings:
        _print_finding(finding, gain_sentence(finding), console, evidence=verbose)
    left_out = 0
    for attempt in found.attempts:
        if verified and not verbose and attempt.outcome != "accepted":
            left_out += 1
            continue
        mark, style = _OUTCOMES.get(attempt.outcome, ("✗", "yellow"))
        head = Text(f"  {mark} ", style)
        head += Text(attempt.title or attempt.recipe or "not tried", "bold")
        console.print(head)
        why = attempt.reason.removeprefix(f"Advice: {attempt.title}. ")  # the title stands above
        if verbose or not verified:
            console.print(Padding(Text(why, "dim"), (0, 0, 0, 4)))
        for note in attempt.notes if not verified else ():
            console.print(Padding(Text(f"note: {note}", "dim"), (0, 0, 0, 4)))
    if left_out:
        console.print(Text(f"    {plural(left_out, 'other attempt', 'other attempts')}: -v", "dim"))
    if not verified:
        if verbose:
            console.print(Text(_compiled(found), "dim"))
        for note in found.notes:
            console.print(Text(f"note: {note}", "dim"))
        print_defects(found.defects, "", console)
        console.print(Text(f"\n{found.message or found.status.replace('_', ' ')}", "bold"))
        console.print("The file stays as it is.")
        return
    console.print()
    diff = Syntax(found.diff or "", "diff", theme="ansi_dark", background_color="default").highlight(
        found.diff or ""
    )
    console.print(diff, soft_wrap=True, end="")  # never cut: it may be saved and given to `patch`
    console.print()
    if verbose:
        console.print(proof_table(found))
        console.print(Text(_compiled(found), "dim"))
    for note in (*found.notes, *([found.ended] if found.ended else ())):
        console.print(Text(f"note: {note}", "dim"))
    if found.isolation == "limits":
        console.print(Text(f"note: {borders(found.isolation)}", "dim"))
    print_defects(found.defects, ", with the edit as without it", console)
    if found.speedup is not None:
        _print_verdict(found, console)


def _print_verdict(found: Optimization, console: Console) -> None:
    """How fast it is, of which kernel, and what proves it."""
    times = ""
    if found.before is not None and found.after is not None:
        times = f", {duration(found.before.time_ns)} before, {duration(found.after.time_ns)} after"
    proof = found.verdict.reason if found.verdict is not None else ""
    speed = Text(f"{found.speedup:.2f}x as fast", "bold green")
    console.print(
        speed + Text(f" ({found.provenance}{times}): {base_name(found.kernel or '')}. {proof}".rstrip())
    )
    for gain in found.kernels[1:]:
        line = Text(f"{gain.speedup:.2f}x as fast", "bold green")
        after = duration(gain.time_ns / gain.speedup)
        console.print(
            line
            + Text(
                f" (all launches of a run: {duration(gain.time_ns)} before, {after} after): {base_name(gain.kernel)}."
            )
        )
    if found.gpu_speedup is not None:
        console.print(Text(f"All kernels of a run together: {found.gpu_speedup:.2f}x as fast."))
    if found.program_speedup is not None:
        console.print(
            Text(f"The program with its host: at most {found.program_speedup:.2f}x as fast (measured).")
        )


def _compiled(found: Optimization) -> str:
    """What the search cost."""
    texts = plural(found.compiles, "text of device code was", "texts of device code were")
    launches = plural(found.replays, "launch", "launches")
    return (
        f"{texts} compiled and {launches} replayed for {plural(len(found.attempts), 'attempt', 'attempts')}."
    )


def kernel_table(report: Report, kernels: Sequence[Kernel], width: int = _WIDE) -> Table:
    """One row per kernel: time, share as a bar, what bounds it, occupancy and its limiter.

    What does not fit into `width` columns is left out, the least important first; the share never is.
    """
    wide = width >= _WIDE
    shares = [percent(k.share) for k in kernels]
    bars = (
        [bar(k.share or 0.0, 12 if wide else 8) for k in kernels]
        if width >= _WITH_BARS
        else [""] * len(kernels)
    )
    columns: dict[str, list[Text]] = {
        "kernel": [Text(report.short_name(k), "bold") for k in kernels],
        f"{report.provenance} time": [Text(duration(k.time_ns)) for k in kernels],
        "may be": [Text(interval(k.time_ns_low, k.time_ns_high).strip(" ()")) for k in kernels],
        "launches": [Text(_launches(k)) for k in kernels],
        "share of GPU time" if wide else "share": [
            Text(drawn, "cyan") + Text(f" {share}".strip() if not drawn else f" {share}")
            for drawn, share in zip(bars, shares, strict=True)
        ],
        "limited by": [Text(bound_words(k.bound) or "unknown") for k in kernels],
        "occupancy": [_occupancy(k.occupancy, wide) for k in kernels],
    }
    name, time, worth, launched, share, limit, occupancy = columns
    needs = {head: max(len(head), *(cell.cell_len for cell in cells)) for head, cells in columns.items()}
    needs[name] = min(needs[name], _NAME_WIDTH)
    shown, left = {name, share}, width - min(needs[name], _SHORT_NAME) - _GAP - needs[share]
    for head in (time, limit, occupancy, launched, worth):
        # What a name needs comes before all but the time.
        room = left if head == time else left + min(needs[name], _SHORT_NAME) - needs[name]
        if needs[head] + _GAP > room or not any(columns[head]):
            break
        left -= needs[head] + _GAP
        shown.add(head)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for head in columns:
        if head == name:
            room = min(needs[name], _SHORT_NAME) + max(0, left)
            table.add_column(head, no_wrap=True, overflow="ellipsis", max_width=min(needs[name], room))
        elif head in shown:
            right = head in (time, worth, launched)
            table.add_column(head, justify="right" if right else "left", no_wrap=True, min_width=needs[head])
    for cells in zip(*(columns[head] for head in columns if head in shown), strict=True):
        table.add_row(*cells)
    return table


def _launches(kernel: Kernel) -> str:
    if not kernel.dispatches and kernel.time_ns is None:
        return "unknown"  # samples or a trace alone
    some = kernel.profiled < kernel.dispatches
    return f"{kernel.dispatches} ({kernel.profiled} profiled)" if some else str(kernel.dispatches)


def heat_strip(kernel: Kernel) -> str:
    """One column per source line of the kernel, as high as its share; neighbours are joined in a long kernel."""
    place = kernel.definition
    size = place.end_line - place.start_line + 1 if place is not None else 0
    if place is None or size < 2:
        return ""
    cells = [0.0] * min(size, _STRIP_WIDTH)
    for row in kernel.lines:
        if row.file == place.file and place.start_line <= row.line <= place.end_line:
            cells[(row.line - place.start_line) * len(cells) // size] += row.share
    return sparkline(cells)


def proof_table(found: Optimization) -> Table:
    """What was compared, and the numbers before and after."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    verdict = found.verdict
    if verdict is not None:
        table.add_row("proof", Text(verdict.reason))
        same = Counter(t.inputs for t in verdict.trials if t.outcome == "same").items()
        table.add_row("compared", Text("; ".join(f"{n} x {text}" if n > 1 else text for text, n in same)))
        exact = "none: every bit is the same" if verdict.bit_exact else _differences(verdict)
        table.add_row("difference", exact)
    if found.isolation:
        table.add_row("isolation", Text(borders(found.isolation)))
    before, after = found.before, found.after
    if before is not None and after is not None:
        _add_changes(table, before, after)
    return table


def _add_changes(table: Table, before: Side, after: Side) -> None:
    """A row for the time, each metric that moved, and the resources that are others."""
    if before.time_ns and after.time_ns:
        table.add_row(f"time ({before.provenance})", _change(before.time_ns, after.time_ns, duration))
    for name, old in before.metrics.items():
        new = after.metrics.get(name)
        if old is not None and new is not None and old != new:
            label = name if before.provenance == "modelled" else f"{name} (modelled)"
            table.add_row(label, _change(old, new, _plain))
    resources = ((label, getattr(before, name), getattr(after, name)) for name, label in _RESOURCES.items())
    changed = [
        f"{label} {old} → {new}"
        for label, old, new in resources
        if old is not None and new is not None and old != new
    ]
    if changed:
        table.add_row("resources", Text(", ".join(changed)))


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _print_captures(report: Report, console: Console) -> None:
    """What was read, and what was not and why; runs, processes and GPUs where there are several."""
    read = [c for c in report.captures if c.read]
    console.print(Text(f"Opened: {plural(len(read), 'file', 'files')} of captures.", "dim"))
    nameless = [Path(c.path).name for c in report.captures if not c.read and c.why in _NO_READER]
    if nameless:
        more = f" and {len(nameless) - _NAMED} more" if len(nameless) > _NAMED else ""
        console.print(Text(f"  no reader knows: {', '.join(nameless[:_NAMED])}{more}", "dim"))
    for capture in report.captures:
        if not capture.read and capture.why not in _NO_READER:
            what = f" ({capture.format})" if capture.format else ""
            console.print(Text(f"  not read: {short_path(capture.path)}{what}: {capture.why}", "yellow"))
        elif capture.read and capture.why:
            console.print(Text(f"  {short_path(capture.path)}: {capture.why}", "yellow"))
    for part in report.parts:
        where = ", ".join(
            words
            for words in (
                part.run,
                f"process {part.process}" if part.process is not None else "",
                part.gpu,
            )
            if words
        )
        count = plural(part.launches, "launch", "launches")
        console.print(Text(f"  {where or 'this run'}: {count}, {duration(part.time_ns)}", "dim"))
    for note in report.notes:
        console.print(Text(f"  note: {note}", "dim"))


def _print_header(report: Report, console: Console) -> None:
    device = report.device
    units = f"{device.compute_units} CUs" if device.compute_units else "CUs unknown"
    known = ", ".join(part for part in (device.arch, device.partition, units) if part)
    line = Text(device.name, "bold") + Text(f" ({known})")
    line += Text(
        f"  {report.provenance}, {report.source}",
        "bold yellow" if report.provenance == "modelled" else "green",
    )
    line += Text(f"  {report.tool}", "dim")
    console.print(line)
    code = report.program.exit_code
    # The files of a program that was run for this report are no captures that somebody opened.
    opened = bool(report.captures) and not report.program.command
    if opened or (code is None and report.source == "recorded"):
        _print_captures(report, console)
        return
    failed = f" {_why_it_failed(report)}" if code else ""
    left = "was stopped." if code is None else f"left with exit code {code}.{failed}"
    console.print(Text(f"The program {left}", "dim"))
    if report.source_note:
        console.print(Text(f"Note: {report.source_note}", "yellow"))
    for warning in report.warnings:
        console.print(Text(f"Warning: {warning}", "yellow"))
    if report.partial:
        console.print(Text(f"Partial: {report.partial}", "yellow"))
    console.print()


def _why_it_failed(report: Report) -> str:
    """What a program that left with an error may have met: a launch that hipscope stopped, or its own mistake."""
    if any(_TIME_OVER in fault.message for fault in report.faults):
        return "Its time was over, so its last launch was stopped, which it was told as an error."
    return "If its results are wrong: `hipscope check` looks for defects of its kernels."


def _print_hot_lines(kernel: Kernel, name: str, console: Console, texts: SourceTexts) -> None:
    rows = sorted((r for r in kernel.lines if r.share >= _HOT_SHARE), key=lambda r: -r.share)[:_HOT_LINES]
    if not rows:
        return
    where = f"  {short_path(kernel.file)}:{kernel.line}" if kernel.file else ""
    head = Text(f"\n{name}", "bold") + Text(where, "dim")
    console.print(head + Text(f"  {heat_strip(kernel)}", "red"))
    names = {id(r): str(r.line) if r.file == kernel.file else f"{Path(r.file).name}:{r.line}" for r in rows}
    number = max(map(len, names.values()))
    # The line and its share always stand there; the code is cut, then the reasons go, then the bars.
    left = console.width - 2 - number - _GAP - _SHARE - _GAP - _SHORTEST_CODE
    reasons = left >= _BAR + _REASONS + _GAP
    drawn = left >= _BAR
    left -= (_BAR if drawn else 0) + (_REASONS + _GAP if reasons else 0)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, _GAP, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True, min_width=number)
    code_width = min(_CODE_WIDTH, _SHORTEST_CODE + max(0, left))
    table.add_column(no_wrap=True, overflow="ellipsis", width=code_width)
    table.add_column(no_wrap=True, width=_SHARE + (_BAR if drawn else 0))
    if reasons:
        table.add_column(no_wrap=True, width=_REASONS)
    for row in sorted(rows, key=lambda r: (r.file, r.line)):
        code = Text(texts.shown(row.file, row.line))
        share = Text(bar(row.share, _BAR) if drawn else "", _colour(row)) + Text(f" {percent(row.share):>5}")
        table.add_row(names[id(row)], code, share, *([_waits(row)] if reasons else []))
    console.print(Padding(table, (0, 0, 0, 2)))


def _print_headline(words: str, report: Report, kernels: Sequence[Kernel], console: Console) -> None:
    """How much was found, then each line of which no finding speaks although it takes a good part of its kernel."""
    told = [
        (k, [d for d in report.told_of(k) if d.formula == _CAUSES and d.share >= _HOT_LINE]) for k in kernels
    ]
    hot = [(k, sorted(rows, key=lambda d: -d.share)) for k, rows in told if rows]
    beside = "" if not hot else ". Where the time goes:" if not report.findings else ", and beside them:"
    console.print(
        Text(f"\n{words}{beside or ('' if report.findings else '.')}", "bold" if report.findings else "")
    )
    for kernel, rows in hot:
        for row in rows:
            place = f"line {row.line}" if row.file == kernel.file else f"{Path(row.file).name}:{row.line}"
            line = Text(
                f"  {percent(row.share)} of {report.short_name(kernel)} is {place}: {_first_cause(row)}"
            )
            console.print(line)


def _first_cause(told: Finding) -> str:
    """`waits for the LDS`, of a line of `diagnoseOnly`: what its time goes into, without parts and remedies."""
    causes = told.message.partition(_CAUSED)[2] or told.message
    return "; ".join(_PART_OF_LINE.sub("", cause) for cause in causes.partition(_HELPS)[0].split("; "))


def _print_findings(report: Report, kernels: Sequence[Kernel], console: Console) -> None:
    if not report.findings:
        if report.kernels:
            _print_headline("No formula has a finding", report, kernels, console)
        return
    _print_headline(plural(len(report.findings), "finding", "findings"), report, kernels, console)
    for finding in sorted(report.findings, key=lambda f: report.gpu_share(f) or 0.0, reverse=True):
        kernel = report.kernel(finding.mangled)
        name = report.short_name(kernel) if kernel is not None else ""
        alone = kernel is not None and name != kernel.base_name and not finding.instances
        instance = f"  {name}" if alone else ""
        share = report.gpu_share(finding)
        evidence = share is None or share >= _SMALL_STAKE
        gain = gain_sentence(finding, kernel)
        if instances := instances_sentence(report, finding):
            gain = f"{percent(share)} of GPU time is at stake {instances}. Of the first: {gain[0].lower()}{gain[1:]}"
        _print_finding(finding, gain, console, instance, evidence=evidence)


def _print_diagnoses(report: Report, kernels: Sequence[Kernel], console: Console) -> None:
    """One line for each kernel without a finding."""
    known = [(k, d) for k in kernels if (d := report.diagnosis(k)) is not None]
    if known:
        console.print(
            "\nWhat bounds the kernels without a finding:" if report.findings else "What bounds the kernels:"
        )
    for kernel, diagnosis in known:
        console.print(Text(f"  {report.short_name(kernel)}: {diagnosis.message}", "dim"))


def _print_told(report: Report, kernels: Sequence[Kernel], console: Console) -> None:
    """The causes of hot lines without a finding, then what is at stake below `min_share`, as hints."""
    for kernel in kernels:
        told = sorted(report.told_of(kernel), key=lambda d: (d.formula != _CAUSES, -d.share))
        if told:
            console.print(Text(f"\nAlso in {report.short_name(kernel)}", "bold"))
        given: set[str] = set()
        for one in told[:_TOLD]:
            place = f"{short_path(one.file)}:{one.line}" if one.file else f"kernel {base_name(one.kernel)}"
            words = _without_given(one.message, given)
            if one.formula != _CAUSES:
                words = f"hint ({one.formula}, {percent(one.share)} of the kernel's time at stake): {words}"
            console.print(Padding(Text(f"{place}  ", "dim") + Text(words), (0, 0, 0, 2)))
        if len(told) > _TOLD:
            console.print(Text(f"  and {len(told) - _TOLD} smaller ones: --format json", "dim"))


def _without_given(message: str, given: set[str]) -> str:
    """The message without the advice that an earlier line of the kernel was given, which is told by its causes."""
    causes, helps, advice = message.partition(_HELPS)
    new = [remedy for remedy in advice.split("; ") if remedy not in given]
    given.update(new)
    return f"{causes}{helps}{'; '.join(new)}" if new else causes


def _print_finding(
    finding: Finding, gain: str, console: Console, instance: str = "", *, evidence: bool = True
) -> None:
    head = Text(f"  {finding.formula}", "bold yellow")
    where = (
        f"{short_path(finding.file)}:{finding.line}"
        if finding.file
        else f"kernel {base_name(finding.kernel)}"
    )
    head += Text(f"  {where}{instance}", "bold")
    console.print(head)
    console.print(Padding(Text(finding.message), (0, 0, 0, 4)))
    console.print(Padding(Text(gain, "dim"), (0, 0, 0, 4)))
    if not evidence:
        return
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2))
    for row in finding.evidence:
        value, ideal = evidence_values(row)
        table.add_row(Text(row.metric, "dim"), value, Text(f"ideal {ideal}" if ideal else "", "dim"))
    if finding.evidence:
        console.print(Padding(table, (0, 0, 0, 4)))
    for place in finding.related:
        console.print(
            Padding(Text(f"{short_path(place.file)}:{place.line}  {place.message}", "dim"), (0, 0, 0, 4))
        )


def _occupancy(occupancy: Occupancy | None, wide: bool) -> Text:
    if occupancy is None or not occupancy.maximum:
        return Text("unknown", "dim")
    waves, most = occupancy.theoretical, occupancy.maximum
    text = Text((f"{bar(waves / most, 8)} " if wide else "") + f"{waves:g}/{most:g} waves")
    return text + Text(f" ({occupancy.limiter})" if waves < most and wide else "", "dim")


def _waits(row: Line) -> Text:
    ranked = top_reasons(row.stalls, row.stall, limit=2)
    parts = [f"{reason(name)} {percent(part)}" for name, part in ranked if part >= _SMALL_REASON]
    if row.reason_may_be:  # uncertain which of the two: in the width of the column
        parts = [f"{parts[0]} or {reason(row.reason_may_be)}?"]
    return Text(", ".join(parts), "dim")


def _colour(row: Line) -> str:
    return _REASON_COLOURS.get(row.reason or "", "white")


def _differences(verdict: Verdict) -> str:
    most = "unknown" if verdict.max_relative is None else _plain(verdict.max_relative)
    # Between values near zero lie billions of other floats: such a number says nothing beside a small relative one.
    ulp = f", {verdict.max_ulp:,} ULP" if verdict.max_ulp <= _MOST_ULP else " (larger in ULP only near zero)"
    return f"within tolerance: at most {most} relative{ulp}"


def _change(before: float, after: float, form: Callable[[float], str]) -> Text:
    most = max(abs(before), abs(after))
    text = Text(f"{form(before):>8} ") + Text(bar(abs(before) / most), "red") + Text(" before\n")
    return text + Text(f"{form(after):>8} ") + Text(bar(abs(after) / most), "green") + Text(" after")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
