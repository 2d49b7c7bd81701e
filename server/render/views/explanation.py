"""One line in words: what its time is lost to, which instruction waits and for whom, what that costs, and what helps.

Takes the rows of a report with the machine code of the line, gives blocks of text. Says only what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipscope.server.render.blocks import Block, Heading, Table, literal
from hipscope.server.render.explain import (
    bound_words,
    busy_words,
    gain_sentence,
    memory_sentence,
    message_sentence,
    stall_table,
)
from hipscope.server.render.words import REASONS, count, percent, reason
from hipscope.server.reports.schema.isa import IsaListing, ListedInstruction
from hipscope.server.reports.schema.profile import Finding, Kernel, Line, Report

MOST_WAITING = 4
_LEAST = 0.01  # of the line's cycles: an instruction below it is not named
_ALL = 0.995


def explanation(
    report: Report,
    kernel: Kernel,
    row: Line | None,
    findings: Sequence[Finding],
    waiting: Sequence[ListedInstruction],
    code: IsaListing | None,
) -> list[Block]:
    """Cause, consequence and remedy of a line of a kernel. `waiting` are its instructions, the costliest first."""
    name = literal(report.short_name(kernel))
    blocks: list[Block] = []
    if row is not None:
        blocks.append(_cause(report, kernel, row, name))
        if code is not None and waiting:
            blocks.append(_who_waits(waiting[0], code))
    for finding in findings:
        blocks.append(f"{message_sentence(finding)}.")
        blocks.append(gain_sentence(finding, kernel))
    blocks += _consequence(kernel, findings)
    if remedies := tuple(dict.fromkeys(r for f in findings for r in f.remedy)):
        blocks.append("**What helps:** " + literal("; ".join(remedies)) + ".")
    if row is not None and row.stall > 0:
        blocks += [Heading("What it waits for"), stall_table(row, "samples" if kernel.sampled else "cycles")]
    if code is not None and waiting:
        blocks += [Heading("Its instructions"), _instructions(waiting, code)]
    if row is not None:
        blocks += [memory_sentence(memory) for memory in row.memory]
    return blocks


def waiting_of(code: IsaListing | None, uri: str, line: int) -> list[ListedInstruction]:
    """The instructions of a line of a document, counted from 0, that take a part of its time; the costliest first."""
    own = [one for one in (code.instructions if code else ()) if one.line == line and one.uri == uri]
    total = sum(one.cycles for one in own)
    order = sorted(own, key=lambda one: -one.cycles)
    return [one for one in order[:MOST_WAITING] if one.cycles > 0 and one.cycles >= _LEAST * total]


def _cause(report: Report, kernel: Kernel, row: Line, name: str) -> str:
    share = kernel.gpu_share(row)
    of_all = f", {percent(share)} of all GPU time" if share is not None and row.share - share > 0.005 else ""
    said = f"This line takes {percent(row.share)} of the time of {name}{of_all} ({report.provenance})."
    cycles = row.latency if row.latency > 0 else row.stall
    if row.stall <= 0 or not row.stalls:
        return f"{said} It does not wait: its instructions are executed as fast as they can be."
    worst = max(row.stalls, key=lambda n: row.stalls[n])
    part = percent(row.stalls[worst] / row.stall)
    meaning = REASONS.get(worst, ("", ""))[1]
    waits = f"It waits for {percent(min(1.0, row.stall / cycles))} of that, {part} of it for {reason(worst)}"
    return f"{said} {waits}{f': it {meaning}' if meaning else ''}."


def _who_waits(one: ListedInstruction, code: IsaListing) -> str:
    unit = "samples" if code.sampled else "cycles"
    said = (
        f"Most of it falls on `{one.text}`, executed by {count(one.hits)} waves ({count(one.cycles)} {unit})."
    )
    producers = sorted(one.producers, key=lambda p: -p.cycles)[:2]
    named = [
        f"`{code.instructions[p.index].text}`{_of_line(code.instructions[p.index])} ({count(p.cycles)} {unit})"
        for p in producers
        if 0 <= p.index < len(code.instructions)
    ]
    return said + (f" It waits for the result of {' and of '.join(named)}." if named else "")


def _of_line(one: ListedInstruction) -> str:
    return "" if one.line is None else f" in line {one.line + 1}"


def _consequence(kernel: Kernel, findings: Sequence[Finding]) -> list[Block]:
    bound, units = bound_words(kernel.bound), busy_words(kernel.busy)
    if not bound and not units:
        return []
    said = f"The kernel is {bound}" if bound else "Its busiest units"
    also = f": {units}" if units else ""
    own = "" if findings else " No known pattern explains this line, so no rewrite is offered for it."
    return [f"{said}{also}.{own}"]


def _instructions(waiting: Sequence[ListedInstruction], code: IsaListing) -> Table:
    rows = []
    for one in waiting:
        stalls = max(one.stalls, key=lambda n: one.stalls[n]) if any(one.stalls.values()) else ""
        producers = sorted(one.producers, key=lambda p: -p.cycles)[:2]
        waits = ", ".join(
            f"`{code.instructions[p.index].text}`{_of_line(code.instructions[p.index])}"
            for p in producers
            if 0 <= p.index < len(code.instructions)
        )
        rows.append((f"`{one.text}`", count(one.cycles), reason(stalls) if stalls else "", waits))
    unit = "samples" if code.sampled else "cycles"
    return Table(("instruction", unit, "waits for", "which comes from"), tuple(rows), frozenset({1}))
