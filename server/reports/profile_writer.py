"""A Profile and what was computed from it as the `hipscope.profile/2` record; an optimization as `hipscope.optimize/1`.

These objects are the stable interface: the command line prints them, the worker sends them, the editor shows them. A
value that was not recorded is null, never 0.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hipscope.analysis import profile as recorded
from hipscope.analysis.inspection.barrier_lanes import divergent_barriers
from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.metrics.line_costs import LineCost, line_costs, user_frame
from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.source.includes import included_files
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn, SourceTexts
from hipscope.analysis.timeline.records import Timeline
from hipscope.analysis.timeline.timeline import timeline
from hipscope.emulator.devices import constant_interval, time_interval, wait_interval
from hipscope.formulas import base as formulas_base
from hipscope.formulas.detect.fences import fence_shares
from hipscope.formulas.detect.registry import diagnose, explain, find_formula, findings_and_hints
from hipscope.server.reports.resources_writer import compile_note
from hipscope.server.reports.schema.fields import record_of
from hipscope.server.reports.schema.optimize import Edit, EditPart, Optimization
from hipscope.server.reports.schema.profile import (
    Device,
    Fault,
    Finding,
    FindingInstance,
    Inputs,
    Kernel,
    Line,
    Memory,
    Place,
    Program,
    Report,
)

if TYPE_CHECKING:
    from hipscope.formulas.optimize.result import OptimizeResult
    from hipscope.formulas.optimize.verified_edit import VerifiedEdit


def profile_report(
    profile: recorded.Profile,
    formulas: Collection[str] | None,
    min_share: float,
    texts: SourceTexts,
    inputs: Inputs,
    copies: Mapping[str, str] | None = None,
    notes: Iterable[SourceNote] = (),
) -> Report:
    """The whole profile, its kernels by time, with the findings of the chosen formulas.

    `texts` are those that the program was built from; `copies` name the files of a capture that hold some of them.
    `notes` are what is wrong in the text. Columns are bytes of UTF-8 from 1, 0 where they are unknown.
    """
    sources = _Sources(texts)
    total = sum(k.time_ns for k in profile.kernels)
    kernels = tuple(_kernel(k, profile, total, sources) for k in profile.kernels)
    found, hints = findings_and_hints(profile, texts, formulas=formulas, min_share=min_share)
    time = timeline(profile)
    findings = finding_records(_by_path(found, time))
    told = (
        *diagnose(profile, found, texts, formulas=formulas),
        *explain(profile, found, texts, formulas=formulas),
    )
    diagnoses = (*map(finding_record, told), *finding_records(hints))
    faults = tuple(_fault(f) for f in profile.faults)
    defects = dict.fromkeys([*notes, *(n for k in profile.kernels for n in divergent_barriers(k, texts))])
    files = {row.file for k in kernels for row in k.lines}
    files |= {k.file for k in kernels if k.file}
    files |= {f.file for f in findings if f.file} | {f.file for f in faults if f.file}
    headers = {file: included for file in sorted(files) if (included := sources.headers(file))}
    files |= {header for included in headers.values() for header in included}
    return record_of(
        Report,
        profile,
        device=record_of(Device, profile.device),
        kernels=kernels,
        findings=findings,
        diagnoses=diagnoses,
        faults=faults,
        program=record_of(Program, profile.program, build_note=None, build_settings=None),
        headers=headers,
        sources={file: digest for file in sorted(files) if (digest := texts.digest(file))},
        inputs=inputs,
        copies=copies or {},
        defects=tuple(compile_note(replace(n, file=real(n.file)), texts) for n in defects),
        time=time,
    )


def _by_path(
    findings: Sequence[formulas_base.Finding], time: Timeline | None
) -> Sequence[formulas_base.Finding]:
    """The findings by what is at stake on the run's longest path, where one was recorded."""
    if time is None or time.path is None:
        return findings
    on_path = {kernel.kernel: kernel.on_path_ns for kernel in time.path.kernels}
    return sorted(findings, key=lambda f: -on_path.get(f.kernel, 0) * f.share)


def finding_records(findings: Sequence[formulas_base.Finding]) -> tuple[Finding, ...]:
    """The elements of `findings`: those that say the same of one line of a template's instances are one.

    It is told of the first of them, in the order in which they are given.
    """
    groups: dict[tuple[object, ...], list[formulas_base.Finding]] = {}
    for finding in findings:
        key: tuple[object, ...] = (finding.formula, finding.file, finding.line, base_name(finding.kernel))
        while any(f.mangled == finding.mangled for f in groups.get(key, ())):
            key = (*key, finding.column)  # another place on that line of the same kernel
        groups.setdefault(key, []).append(finding)
    return tuple(finding_record(first, others) for first, *others in groups.values())


def finding_record(finding: formulas_base.Finding, others: Sequence[formulas_base.Finding] = ()) -> Finding:
    """One element of `findings`; the `others` say the same of other instances of the kernel's template."""
    same = (finding, *others) if others else ()
    formula = find_formula(finding.formula)
    return record_of(
        Finding,
        finding,
        file=real(finding.file),
        related=tuple(Place(real(r.file), r.line, r.message) for r in finding.related),
        instances=tuple(FindingInstance(f.kernel, f.mangled, f.share) for f in same),
        title=formula.title if formula else finding.formula,
        remedy=tuple(formula.remedy) if formula else (),
    )


def optimize_report(
    result: OptimizeResult, texts: SourceTexts, defects: Iterable[SourceNote] = ()
) -> Optimization:
    """The outcome of an optimization, with its edit when it was verified, and the defects of the kernel as it is."""
    edit = result.edit
    return record_of(
        Optimization,
        result,
        findings=finding_records(result.findings),
        file=real(result.file) if result.file else None,
        edit=_edit_record(edit) if edit else None,
        defects=tuple(compile_note(replace(n, file=real(n.file)), texts) for n in defects),
    )


def _edit_record(edit: VerifiedEdit) -> Edit:
    also = tuple(record_of(EditPart, part, file=real(part.file)) for part in edit.also)
    return record_of(Edit, edit, file=real(edit.file), also=also)


def real(path: str) -> str:
    """One spelling of a path, the same that the editor's side uses."""
    return os.path.realpath(path) if path else ""


class _Sources:
    """The texts that were profiled: what they include, and where kernels end in them."""

    def __init__(self, texts: SourceTexts) -> None:
        self._texts = texts
        self._program = {real(str(path)) for path in texts.sources}
        self._syntax: dict[str, FileSyntax | None] = {}

    def headers(self, file: str) -> tuple[str, ...]:
        """What a file includes in quotation marks from beside it, and what that includes, and so on.

        Where the files of the program are known, only those: a text may include what its build leaves out.
        """
        found = {real(str(p)) for p in included_files(self._texts, (Path(file),)) if str(p) != file}
        return tuple(sorted(found & self._program if self._program else found))

    def extent(self, file: str, line: int, name: str) -> tuple[int, int]:
        """The first and last line of a kernel's definition; the known line twice when it cannot be found."""
        if file not in self._syntax:
            text = self._texts.read(file)
            self._syntax[file] = parse(text) if text is not None else None
        syntax = self._syntax[file]
        kernel = (syntax.kernel_at(line) or syntax.kernel(name)) if syntax else None
        return (kernel.span.line, kernel.span.end_line) if kernel else (line, line)


def _kernel(kernel: recorded.Kernel, profile: recorded.Profile, total_ns: float, sources: _Sources) -> Kernel:
    file = real(kernel.file or "")
    start, end = sources.extent(file, kernel.line or 0, base_name(kernel.name)) if file else (0, 0)
    roof = roofline(kernel, profile.device, profile.provenance)
    low, high = _interval(kernel, profile)
    return record_of(
        Kernel,
        kernel,
        file=file or None,
        line=(kernel.line if start <= (kernel.line or 0) <= end else start) or None,
        start_line=start or None,
        end_line=end or None,
        share=kernel.time_ns / total_ns if total_ns else None,
        time_ns_low=low,
        time_ns_high=high,
        time_ns=kernel.time_ns if kernel.dispatches else None,
        dispatches=len(kernel.dispatches) or kernel.without_time,
        profiled=sum(d.profiled for d in kernel.dispatches) or (kernel.without_time if kernel.counted else 0),
        bound=roof.bound,
        roofline=roof,
        occupancy=occupancy(kernel, profile.device),
        lines=tuple(_line(cost, profile.provenance) for cost in line_costs(kernel)),
    )


def _interval(kernel: recorded.Kernel, profile: recorded.Profile) -> tuple[float | None, float | None]:
    """What the kernel's modelled time may be; nothing of a measured one."""
    found = time_interval(kernel.bound_by or "") if profile.provenance == "modelled" else None
    if found is None:
        return None, None
    least, largest = found
    for constant, share in fence_shares(kernel).items():  # what a fence takes is the least certain of all
        low, high = constant_interval(profile.device.name, constant)
        least, largest = least + share * (low - found[0]), largest + share * (high - found[1])
    return kernel.time_ns * least, kernel.time_ns * largest


def other_reason(stalls: Mapping[recorded.StallReason, float]) -> recorded.StallReason | None:
    """What may be waited for longer than the reason with the most cycles, within the ranges of constants."""
    ranked = sorted(stalls, key=lambda reason: -stalls[reason])
    if not ranked:
        return None
    least = stalls[ranked[0]] * wait_interval(ranked[0].value)[0]
    most = {reason: stalls[reason] * wait_interval(reason.value)[1] for reason in ranked[1:]}
    found = max(most, key=lambda reason: most[reason], default=None)
    return found if found is not None and most[found] > least else None


def _line(cost: LineCost, provenance: str) -> Line:
    # By its JSON form: sums of patterns hold whole numbers where they say float.
    patterns = tuple(Memory(**pattern.model_dump(mode="json")) for pattern in cost.memory)
    uncertain = other_reason(cost.stalls) if provenance == "modelled" else None
    return record_of(
        Line, cost, file=real(cost.file), memory=patterns, reason_may_be=uncertain and uncertain.value
    )


def _fault(fault: recorded.Fault) -> Fault:
    frame = user_frame(fault.source)
    return Fault(
        kernel=fault.kernel,
        message=fault.message,
        refused=fault.refused,
        left_out=fault.left_out,
        file=real(frame.file) if frame else "",
        line=frame.line if frame else 0,
        column=ByteColumn(frame.column) if frame else UNKNOWN_COLUMN,
        instruction=fault.instruction,
    )
