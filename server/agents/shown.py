"""Records of reports as the small JSON objects that an agent reads: what matters first, few digits, no repetition.

Times are nanoseconds, shares 0..1. Each answer says whether its times are measured or modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hipscope.analysis.history.store import AttemptRow, HistoryEntry
from hipscope.server.agents.answers import Answer, rounded, short
from hipscope.server.render.explain import memory_sentence
from hipscope.server.render.words import REASONS
from hipscope.server.reports.schema.check import CheckReport, DefectSite
from hipscope.server.reports.schema.compare import ComparedKernel, ComparedProgram, ComparedSide
from hipscope.server.reports.schema.fields import to_json
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.optimize import Attempt, Optimization, Side
from hipscope.server.reports.schema.profile import Finding, Kernel, Line, Report
from hipscope.server.reports.schema.resources import ResourcesReport
from hipscope.server.reports.schema.verdict import Verdict

SourceLine = Callable[[Report, str, int], str | None]
"""Gives the text of a line of a profiled file; None where an agent may not read it, or it has changed."""

_OUTPUT = 600  # characters of a program's output
_DIFFERENCES = 3


def profile_answer(report: Report, name: str) -> Answer:
    """A whole profile: kernels, longest first, and findings, worst first."""
    return {
        "report": name,
        "device": report.device.name,
        "times_are": report.provenance,
        "kernels": [kernel_row(kernel) for kernel in report.kernels],
        "findings": [finding_row(report, one) for one in report.findings],
        "hints": [finding_row(report, one) for one in report.diagnoses],
        "faults": [{"kernel": f.kernel, "message": f.message, **_at(f.file, f.line)} for f in report.faults],
        "failure": report.failure(),
        "output_end": report.program.output[-_OUTPUT:],
        "notes": [
            *filter(None, [report.program.build_note, report.source_note, report.partial]),
            *report.notes,
            *report.warnings,
        ],
    }


def kernel_row(kernel: Kernel) -> Answer:
    """One kernel: its time with what it may be, its share, and what bounds it."""
    low, high = kernel.time_ns_low, kernel.time_ns_high
    return {
        "kernel": short(kernel.name),
        "time_ns": rounded(kernel.time_ns),
        "time_ns_interval": None if low is None or high is None else [rounded(low), rounded(high)],
        "share": rounded(kernel.share),
        "launches": kernel.dispatches,
        "bound": kernel.bound,
        "partial": kernel.partial,
        **_at(kernel.file, kernel.line),
    }


def finding_row(report: Report, finding: Finding) -> Answer:
    """One finding with its evidence and what helps; `share` is of its kernel's time, `gpu_share` of all."""
    return {
        "formula": finding.formula,
        "kernel": short(finding.kernel),
        **_at(finding.file, finding.line),
        "share": rounded(finding.share),
        "gpu_share": rounded(report.gpu_share(finding)),
        "message": finding.message,
        "estimated_speedup": rounded(finding.estimated_speedup),
        "remedy": list(finding.remedy),
        "evidence": [
            {"metric": e.metric, "value": e.value, "ideal": e.ideal, "unit": e.unit} for e in finding.evidence
        ],
        "page": f"hipscope://formula/{finding.formula}",
    }


def hot_lines(report: Report, kernels: Sequence[Kernel], source: SourceLine) -> list[Answer]:
    """The lines of these kernels that cost something, the most of all GPU time first."""
    rows = [(kernel, line) for kernel in kernels for line in kernel.lines]
    rows.sort(key=lambda row: -((row[0].share or 0.0) * row[1].share))
    return [
        {
            **_at(line.file, line.line),
            "source": source(report, line.file, line.line),
            "kernel": short(kernel.name),
            "share_of_kernel": rounded(line.share),
            "share_of_gpu": rounded(kernel.gpu_share(line)),
            "waits_for": line.reason,
            "stalled": rounded(line.stall / line.latency if line.latency else None),
        }
        for kernel, line in rows
    ]


def line_answer(report: Report, file: str, line: int, source: SourceLine) -> Answer:
    """All that is known of one line, for each kernel that has code of it."""
    rows = [(k, one) for k in report.kernels for one in k.lines if one.file == file and one.line == line]
    about = [f for f in report.findings if f.file == file and f.line <= line <= max(f.line, f.end_line)]
    told = [f for f in report.diagnoses if f.file == file and f.line <= line <= max(f.line, f.end_line)]
    return {
        **_at(file, line),
        "source": source(report, file, line),
        "times_are": report.provenance,
        "kernels": [_line_of(kernel, one) for kernel, one in rows],
        "findings": [finding_row(report, one) for one in about],
        "hints": [finding_row(report, one) for one in told],
    }


def _line_of(kernel: Kernel, line: Line) -> Answer:
    waits = sorted(line.stalls.items(), key=lambda item: -item[1])
    return {
        "kernel": short(kernel.name),
        "unit": "samples" if kernel.sampled else "cycles",
        "share_of_kernel": rounded(line.share),
        "share_of_gpu": rounded(kernel.gpu_share(line)),
        "executed": line.hits,
        "latency": rounded(line.latency),
        "stall": rounded(line.stall),
        "waits_for": [
            {
                "reason": name,
                "share": rounded(cycles / line.stall if line.stall else None),
                "meaning": REASONS.get(name, ("", ""))[1],
            }
            for name, cycles in waits
            if cycles > 0
        ],
        "may_wait_for_instead": line.reason_may_be,
        "memory": [memory_sentence(one).replace("**", "") for one in line.memory],
    }


def roofline_answer(report: Report, kernels: Iterable[Kernel]) -> Answer:
    """Each kernel beside the device's ceilings, with its occupancy and resources."""
    return {
        "device": report.device.name,
        "times_are": report.provenance,
        "kernels": [
            {
                **kernel_row(kernel),
                "intensity_flop_per_byte": rounded(kernel.roofline.intensity),
                "ridge": rounded(kernel.roofline.ridge),
                "nearest_ceiling": kernel.roofline.nearest,
                "ceilings": [
                    {
                        "of": reach.name,
                        "unit": reach.unit,
                        "per_s": rounded(reach.per_s),
                        "ceiling": rounded(reach.ceiling),
                        "fraction": rounded(reach.fraction),
                        "ceiling_is": reach.basis,
                    }
                    for reach in kernel.roofline.ceilings
                ],
                "occupancy": None if kernel.occupancy is None else to_json(kernel.occupancy),
                "resources": to_json(kernel.resources),
            }
            for kernel in kernels
        ],
    }


def isa_answer(isa: IsaReport, line: int | None) -> Answer:
    """The machine code of a kernel, or that of one line of it."""
    rows = [one for one in isa.instructions if line is None or one.line == line]
    return {
        "kernel": short(isa.kernel),
        "device": isa.device,
        "times_are": isa.provenance,
        "unit": "samples" if isa.sampled else "cycles",
        "columns": ["index", "instruction", "line", "executed", "share", "stalled", "waits_for", "producers"],
        "instructions": [
            [
                one.index,
                short(one.text),
                one.line,
                one.hits,
                rounded(one.share, 3),
                rounded(one.stall / one.latency if one.latency else 0.0, 3),
                max(one.stalls, key=lambda r: one.stalls[r]) if one.stall > 0 and one.stalls else "",
                [int(i) for i in sorted(one.waited_for, key=lambda i: -one.waited_for[i])[:2]],
            ]
            for one in rows
        ],
    }


def resources_answer(report: ResourcesReport) -> Answer:
    """What kernels need of the device, as compiled."""
    kernels = [kernel for source in report.sources for kernel in source.kernels]
    notes = [note for source in report.sources for note in source.notes]
    errors = [source.error for source in report.sources if source.error is not None]
    keys = ("name", "line", "vgprs", "agprs", "sgprs", "scratch", "lds", "waves", "max_waves", "limiter")
    return {
        "device": report.device,
        "arch": report.arch,
        "kernels": [
            {
                **{key: getattr(kernel, key) for key in keys},
                "name": short(kernel.name),
                "spills": kernel.spills,
                "next_step": None if kernel.next_step is None else to_json(kernel.next_step),
            }
            for kernel in kernels
        ],
        "notes": [to_json(note) for note in notes],
        "errors": [to_json(error) for error in errors],
    }


def check_answer(report: CheckReport) -> Answer:
    """What the sanitizers found."""
    return {
        "clean": not (report.reports or report.notes or report.faults or report.failure),
        "checks": list(report.checks),
        "launches": report.dispatches,
        "defects": [
            {
                "class": one.defect,
                "kernel": short(one.kernel),
                "message": one.message,
                "count": one.count,
                "at": _site(one.at),
                "other": None if one.other is None else _site(one.other),
            }
            for one in report.reports
        ],
        "faults": [{"kernel": short(f.kernel), "message": f.message} for f in report.faults],
        "notes": [to_json(note) for note in report.notes],
        "failure": report.failure,
        "output_end": report.program.output[-_OUTPUT:],
    }


def _site(site: DefectSite) -> Answer:
    return {
        **_at(site.file, site.line),
        "instruction": site.instruction,
        "workgroup": list(site.workgroup),
        "lane": site.lane,
    }


def verdict_answer(verdict: Verdict) -> Answer:
    """Whether a candidate does the same, on how much, and the first input on which it does not."""
    failed = [trial for trial in verdict.trials if trial.outcome == "different"]
    return {
        "equivalence": verdict.outcome,
        "reason": verdict.reason,
        "launches": verdict.dispatches,
        "trials": len(verdict.trials),
        "bit_exact": verdict.bit_exact,
        "failing_input": [
            {"launch": t.dispatch, "inputs": t.inputs, "detail": t.detail} for t in failed[:_DIFFERENCES]
        ],
        "differences": [
            {
                "kind": m.kind,
                "message": m.message,
                "in": m.label,
                "first_index": m.first_index,
                "expected": m.expected,
                "got": m.got,
                "wrong": m.count,
                "of": m.total,
            }
            for m in verdict.mismatches[:_DIFFERENCES]
        ],
        "notes": list(verdict.notes),
    }


def outcome_answer(outcome: Optimization, edit: str | None) -> Answer:
    """What came of a rewrite: its id when it passed all gates, else the first gate that did not open."""
    last = outcome.attempts[-1] if outcome.attempts else None
    verdict = outcome.verdict or (last.verdict if last is not None else None)
    return {
        "verdict": "verified" if edit is not None else outcome.status,
        "id": edit,
        "reason": outcome.message,
        "outcome": None if last is None else last.outcome,
        "kernel": None if outcome.kernel is None else short(outcome.kernel),
        "file": outcome.file,
        "speedup": rounded(outcome.speedup or (last.speedup if last is not None else None)),
        "times_are": outcome.provenance,
        "before": _side(outcome.before),
        "after": _side(outcome.after),
        "proof": None if verdict is None else verdict_answer(verdict),
        "notes": list(outcome.notes or (last.notes if last is not None else ())),
        "made_worse": [to_json(trade) for trade in outcome.trades],
        "attempts": [_attempt(one) for one in outcome.attempts],
        "diff": outcome.diff,
    }


def attempts_answer(rows: Sequence[tuple[HistoryEntry, AttemptRow]]) -> Answer:
    """What was tried before, each with its commit."""
    return {
        "attempts": [
            {
                "when": entry.time,
                "commit": entry.commit_id + ("+" if entry.dirty else ""),
                "times_are": entry.provenance,
                "kernel": short(row.kernel),
                "formula": row.formula,
                "title": short(row.title),
                "outcome": row.outcome,
                "speedup": rounded(row.speedup),
                "reason": row.reason,
            }
            for entry, row in rows
        ]
    }


def _attempt(one: Attempt) -> Answer:
    return {
        "title": one.title or one.recipe,
        "kernel": short(one.kernel),
        "formula": one.formula,
        "outcome": one.outcome,
        "speedup": rounded(one.speedup),
        "reason": one.reason,
    }


def _side(side: Side | None) -> Answer | None:
    if side is None:
        return None
    return {
        "time_ns": rounded(side.time_ns),
        "vgprs": side.vgprs,
        "lds_bytes": side.lds_bytes,
        "scratch_bytes": side.scratch_bytes,
        "occupancy": rounded(side.occupancy),
    }


def compared_answer(program: ComparedProgram, provenance: str | None) -> Answer:
    """Two profiles, kernel by kernel, the largest change of time first."""
    rows = sorted(program.kernels, key=lambda k: -abs(k.change or 0.0))
    return {"times_are": provenance, "failed": program.failed, "kernels": [_compared(k) for k in rows]}


def _compared(kernel: ComparedKernel) -> Answer:
    return {
        "kernel": short(kernel.name),
        "change": rounded(kernel.change),
        "not_comparable": kernel.not_comparable,
        "renamed": kernel.renamed,
        "base": _compared_side(kernel.base),
        "head": _compared_side(kernel.head),
    }


def _compared_side(side: ComparedSide | None) -> Answer | None:
    return None if side is None else to_json(side)


def _at(file: str | None, line: int | None) -> Answer:
    return {"file": file, "line": line} if file and line else {}
