"""Two profiles of a program as records of `hipscope.compare/1`, and which of the named limits a kernel passed.

Takes `hipscope.profile` reports. Kernels are matched by their mangled name, then by an identifier that is unique on
both sides, then by their texts: a signature or a name that changed does not make another kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hipscope.analysis.errors import UsageError
from hipscope.server.reports.compared_texts import KernelTexts, moved_lines, renamed_kernels
from hipscope.server.reports.schema.compare import (
    ComparedKernel,
    ComparedProgram,
    ComparedSide,
    PassedLimit,
)
from hipscope.server.reports.schema.profile import Kernel, Report

_LIMIT = re.compile(r"(?P<what>[a-z]+)\s*(?:>\s*(?P<most>\d+(?:\.\d+)?)\s*(?P<unit>%?)|:\s*(?P<word>[a-z]+))")
# How programs say that their results are wrong, which many do with exit code 0.
_FAILS = re.compile(r"\b(fail(s|ed|ure)?|mismatch(es|ed)?|incorrect|wrong)\b", re.IGNORECASE)
_MOST_SHOWN = 120
_COUNTS: Mapping[str, Callable[[ComparedSide], int | None]] = {
    "vgpr": lambda side: side.vgprs,
    "agpr": lambda side: side.agprs,
    "sgpr": lambda side: side.sgprs,
    "spills": lambda side: side.spills,
    "scratch": lambda side: side.scratch_bytes,
    "lds": lambda side: side.lds_bytes,
}


@dataclass(frozen=True)
class Limit:
    """`time>5%`: at most so much more than in the base; `vgpr>0`: so many more; `finding:new`: no new finding."""

    text: str
    what: str
    most: float


def read_limits(text: str) -> tuple[Limit, ...]:
    """The limits of a list such as `time>5%,vgpr>0,finding:new`. Raises UsageError."""
    return tuple(_limit(part.strip()) for part in text.split(",") if part.strip())


def _limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text)
    if found is not None and found["word"]:
        if (found["what"], found["word"]) in (("finding", "new"), ("kernel", "gone"), ("program", "failed")):
            return Limit(text, text, 0.0)
    elif found is not None and found["what"] == "time" and found["unit"]:
        return Limit(text, "time", float(found["most"]) / 100)
    elif found is not None and found["what"] in _COUNTS and not found["unit"]:
        return Limit(text, found["what"], float(found["most"]))
    known = ", ".join(["time>5%", *(f"{name}>0" for name in _COUNTS), "finding:new", "kernel:gone"])
    raise UsageError(f"{text!r} is no limit", f"limits are such as {known}")


def compare_reports(
    program: str, base: Report, head: Report, texts: KernelTexts | None = None
) -> ComparedProgram:
    """The kernels of two profiles of a program: those of the head, longest first, then those that are gone.

    A head that prints that its own check fails, where the base prints none of that, has failed: what a wrong program
    takes is no news. `texts`: what the profiles were made from may be read, for renamed kernels and lines.
    """
    if (line := _failing_line(base.program.output, head.program.output)) is not None:
        return ComparedProgram(program, (), f"its own check fails: `{line}`")
    reason = _not_comparable(base, head)
    before = {kernel.mangled: kernel for kernel in base.kernels}
    partners = _partners(base.kernels, head.kernels)
    if texts is not None:
        left = [k for k in base.kernels if k.mangled not in partners.values()]
        new = [k for k in head.kernels if k.mangled not in partners]
        partners |= renamed_kernels(texts, (base, left), (head, new))
    rows = []
    for kernel in head.kernels:
        old = before.get(partners.get(kernel.mangled, ""))
        row = _row(base, old, head, kernel, reason)
        if texts is not None and old is not None and reason is None:
            row = replace(row, moved_lines=moved_lines(texts, (base, old), (head, kernel)))
        rows.append(row)
    matched = set(partners.values())
    rows += [
        _row(base, kernel, head, None, reason) for kernel in base.kernels if kernel.mangled not in matched
    ]
    return ComparedProgram(program, tuple(rows), None)


def _failing_line(base: str, head: str) -> str | None:
    """The first line by which a program says that its check failed; None where the base has as many of them."""
    before, after = ([line for line in text.splitlines() if _FAILS.search(line)] for text in (base, head))
    return after[0].strip()[:_MOST_SHOWN] if len(after) > len(before) else None


def passed_limits(programs: Sequence[ComparedProgram], limits: Sequence[Limit]) -> tuple[PassedLimit, ...]:
    """Each limit that a kernel passed, in the order of the programs. A program that failed passes `program:failed`."""
    return tuple(passed for program in programs for limit in limits for passed in _passed(program, limit))


def _passed(program: ComparedProgram, limit: Limit) -> Iterator[PassedLimit]:
    if limit.what == "program:failed" and program.failed is not None:
        yield PassedLimit(limit.text, program.program, "", program.failed)
    for kernel in program.kernels:
        if (message := _why(kernel, limit)) is not None:
            yield PassedLimit(limit.text, program.program, kernel.name, message)


def _why(kernel: ComparedKernel, limit: Limit) -> str | None:
    """What a kernel does that a limit forbids; None when it keeps it."""
    base, head = kernel.base, kernel.head
    if limit.what == "kernel:gone":
        return "is not in the head" if head is None else None
    if head is None:
        return None
    if limit.what == "finding:new":
        new = [name for name in head.findings if base is None or name not in base.findings]
        return f"has a new finding: {', '.join(new)}" if new and base is not None else None
    if base is None:
        return None
    if limit.what == "time":
        change = kernel.change
        sure = kernel.measured.low if kernel.measured is not None else change
        if change is None or sure is None or sure <= limit.most + 1e-9:
            return None
        return f"takes {change:.1%} more time{_interval(kernel)}"
    value = _COUNTS[limit.what]
    old, now = value(base), value(head)
    if old is None or now is None or now - old <= limit.most:
        return None
    return f"{limit.what}: {now} instead of {old}"


def _interval(kernel: ComparedKernel) -> str:
    if (found := kernel.measured) is None:
        return ""
    return f" (95 % between {found.low:+.1%} and {found.high:+.1%}, {found.pairs} pairs of runs)"


def _partners(base: Sequence[Kernel], head: Sequence[Kernel]) -> dict[str, str]:
    """The base's mangled name by the head's."""
    both = {kernel.mangled for kernel in base} & {kernel.mangled for kernel in head}
    left = [[kernel for kernel in side if kernel.mangled not in both] for side in (base, head)]
    counts = [Counter(kernel.base_name for kernel in side) for side in left]
    single = {name for name in counts[0] if counts[0][name] == 1 == counts[1][name]}
    old, new = ({k.base_name: k.mangled for k in side if k.base_name in single} for side in left)
    return {name: name for name in both} | {new[name]: old[name] for name in single}


def _row(
    base: Report, old: Kernel | None, head: Report, new: Kernel | None, reason: str | None
) -> ComparedKernel:
    kernel = new or old
    assert kernel is not None
    change = None
    if reason is None and old is not None and new is not None and old.time_ns and new.time_ns is not None:
        change = new.time_ns / old.time_ns - 1
    renamed = old.name if old is not None and new is not None and old.mangled != new.mangled else None
    report = head if new is not None else base
    return ComparedKernel(
        name=report.short_name(kernel),
        mangled=kernel.mangled,
        base=_side(base, old) if old is not None else None,
        head=_side(head, new) if new is not None else None,
        change=change,
        not_comparable=reason if old is not None and new is not None else None,
        renamed=renamed,
        measured=None,
        moved_lines=(),
    )


def _side(report: Report, kernel: Kernel) -> ComparedSide:
    needs = kernel.resources
    spills = [n for n in (needs.vgpr_spills, needs.sgpr_spills) if n is not None]
    found = sorted({f.formula for f in report.findings if kernel.mangled in f.mangled_names})
    return ComparedSide(
        time_ns=kernel.time_ns,
        dispatches=kernel.dispatches,
        vgprs=needs.vgprs,
        agprs=needs.agprs,
        sgprs=needs.sgprs,
        spills=sum(spills) if spills else None,
        scratch_bytes=needs.scratch_bytes,
        lds_bytes=needs.lds_bytes,
        occupancy=kernel.occupancy.theoretical if kernel.occupancy is not None else None,
        bound=kernel.bound,
        findings=tuple(found),
    )


def _not_comparable(base: Report, head: Report) -> str | None:
    """Why the times of two profiles say nothing about each other; None when they do."""
    if base.provenance != head.provenance:
        return f"the base's times are {base.provenance}, the head's {head.provenance}"
    if base.device.name != head.device.name:
        return f"the base is of {base.device.name}, the head of {head.device.name}"
    return None
