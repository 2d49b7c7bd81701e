"""What a line or a kernel costs and why, as blocks: the text of hovers and tooltips.

Says only what the report holds. Every number has its unit, and every time its provenance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipscope.server.render.blocks import Block, Heading, Table, literal
from hipscope.server.render.formula_pages import formula_page
from hipscope.server.render.words import (
    REASONS,
    bar,
    count,
    duration,
    interval,
    launches,
    percent,
    rate,
    reason,
    size,
    three,
)
from hipscope.server.reports.schema.profile import (
    Evidence,
    Finding,
    Kernel,
    Line,
    Memory,
    Occupancy,
    Reach,
    Report,
    Resources,
    Roofline,
)
from hipscope.server.session.known_profiles import Marks

_BOUNDS = {
    "lds": "LDS bound",
    "atomics": "atomic bound",
    "vmem": "memory unit bound",
    "l2": "L2 bound",
    "occupancy": "latency bound, few waves",
}
_ALL = 0.995  # of all GPU time, as it is written
_INSTANCES = 4  # of a template, that are named
_STALE = "*Stale: this text was changed after it was profiled. Profile again for current numbers.*"
_SMALLEST = 0.005  # a reason below this part of a line's waits is left out


def explain_line(
    marks: Marks,
    rows: Sequence[tuple[Kernel, Line]],
    findings: Sequence[Finding],
    told: Sequence[Finding] = (),
    above: Sequence[Finding] = (),
) -> list[Block]:
    """What is wrong, what helps, a stall table and the memory pattern for each kernel, then the evidence.

    `told` is what is said of the line beside findings: the cause of its time, and hints. `above`: findings whose
    message the editor shows above this text, so only what it leaves out is said of them.

    In that order, because an editor shows the first ten lines or so and scrolls the rest.
    """
    report = marks.report
    blocks: list[Block] = []
    for finding in findings:
        said = _beside_its_message(finding) if finding in above else finding_sentence(report, finding)
        blocks += [said, *_what_helps(finding)]
    blocks += [literal(f"{one.message[:1].upper()}{one.message[1:]}.") for one in told]
    for kernel, row in rows:
        blocks.append(
            Heading(
                f"{percent(row.share)} of kernel {literal(marks.report.short_name(kernel))} · "
                f"{percent(kernel.gpu_share(row))} of GPU time ({report.provenance})"
            )
        )
        if marks.is_stale(kernel):
            blocks.append(_STALE)
        unit = "samples" if kernel.sampled else "cycles"
        blocks.append(stall_table(row, unit) if row.stall > 0 else "Does not wait.")
        if row.reason_may_be:
            blocks.append(
                f"What it waits for most is uncertain: it may be {reason(row.reason_may_be)}, within the ranges of the "
                "model's assumed constants."
            )
        blocks += [memory_sentence(m) for m in row.memory]
    for finding in findings:
        blocks += _evidence(finding)
    return blocks


def finding_sentence(report: Report, finding: Finding) -> str:
    """What is wrong, how much is at stake, and where to read on."""
    at_stake = f"{percent(report.gpu_share(finding))} of GPU time at stake"
    if instances := instances_sentence(report, finding):
        at_stake += f" {literal(instances)}"
    return f"{message_sentence(finding)} ({at_stake}{possible_speedup(finding)})"


def message_sentence(finding: Finding) -> str:
    """What is wrong and where to read on, without what is at stake."""
    return f"{_title(finding)}: {literal(finding.message)}"


def _title(finding: Finding) -> str:
    page = formula_page(finding.formula)
    return f"[{literal(finding.formula)}]({page})" if page else f"`{finding.formula}`"


def _beside_its_message(finding: Finding) -> str:
    """Where to read on, and what the end of a finding would bring."""
    times = finding.estimated_speedup
    gain = f": without it the kernel is about {_times(times)} as fast{_usual(finding)}" if times else ""
    return f"{_title(finding)}{gain}"


def possible_speedup(finding: Finding) -> str:
    """An estimate of the gain, to be put behind the time at stake; empty when there is none."""
    times = finding.estimated_speedup
    if times is None:
        return ""
    return f", the kernel about {_times(times)} as fast{_usual(finding)} if all of that goes"


def gain_sentence(finding: Finding, kernel: Kernel | None = None) -> str:
    """What a line costs, what of that is at stake and what it would bring, in one sentence; all of the kernel's time.

    With the `kernel` also the line's own share, and the stake's part of all GPU time where that is another one.
    """
    rows = kernel.lines if kernel is not None else ()
    line = next((r.share for r in rows if (r.file, r.line) == (finding.file, finding.line)), None)
    stake = f"{percent(finding.share)} is at stake"
    start = "Of the kernel's time" + (f" this line takes {percent(line)}, and" if line is not None else "")
    if kernel is not None and kernel.share is not None and kernel.share < _ALL:
        stake += f" ({percent(finding.share * kernel.share)} of all GPU time)"
    times = finding.estimated_speedup
    if times is None and line is not None and finding.share > line:
        return f"Of the kernel's time this line takes {percent(line)}, with others like it {percent(finding.share)}."
    if times is None:
        return f"{start} {stake}."
    return f"{start} {stake}: without that the kernel is about {_times(times)} as fast{_usual(finding)}."


def _usual(finding: Finding) -> str:
    """Between what half of the edits of such findings end, in brackets; empty where that is not known."""
    if finding.usual_speedup is None:
        return ""
    least, most = finding.usual_speedup
    return f" (usually {_times(least)} to {_times(most)})"


def _times(factor: float) -> str:
    return f"{factor:.{1 if factor < 10 else 0}f}x"


def instances_sentence(report: Report, finding: Finding, most: int = _INSTANCES) -> str:
    """Which instances of a template have the finding, with their parts of all GPU time; empty for a single kernel."""
    if not finding.instances:
        return ""
    shown = []
    for instance in finding.instances[:most]:
        kernel = report.kernel(instance.mangled)
        part = instance.share * kernel.share if kernel is not None and kernel.share is not None else None
        name = report.short_name(kernel) if kernel is not None else instance.kernel
        shown.append(name if part is None else f"{name} {percent(part)}")
    more = len(finding.instances) - len(shown)
    rest = f" and {more} more" if more > 0 else ""
    return f"in {len(finding.instances)} instances of the template ({', '.join(shown)}{rest})"


def _evidence(finding: Finding) -> list[Block]:
    """The numbers that say so."""
    rows = tuple((literal(e.metric), *map(literal, evidence_values(e))) for e in finding.evidence)
    return [Table(("evidence", "value", "ideal"), rows, frozenset({1, 2}))] if rows else []


def _what_helps(finding: Finding) -> list[Block]:
    return ["What helps: " + literal("; ".join(finding.remedy))] if finding.remedy else []


def explain_kernel(report: Report, kernel: Kernel, stale: bool) -> list[Block]:
    """One kernel: its findings, then what binds it, time, roofline, occupancy, resources, where from."""
    blocks: list[Block] = [Heading(literal(kernel.name))]
    if stale:
        blocks.append(_STALE)
    found = [f for f in report.findings if kernel.mangled in f.mangled_names]
    blocks += [finding_sentence(report, f) for f in found[:_MOST_FINDINGS]]
    rows = [
        (
            "time",
            (
                f"{duration(kernel.time_ns)}{interval(kernel.time_ns_low, kernel.time_ns_high)}"
                f" in {launches(kernel.dispatches, kernel.profiled)} ({report.provenance})"
            ),
        )
    ]
    if kernel.share is not None:
        rows.append(("share of GPU time", f"{bar(kernel.share).rstrip()} {percent(kernel.share)}"))
    if bound := bound_words(kernel.bound):
        rows.append(("limited by", bound))
        rows += decision_rows(report.provenance, kernel.roofline)
    if units := busy_words(kernel.busy):
        rows.append(("busiest units", units))
    diagnosis = report.diagnosis(kernel)
    rows += (
        roofline_rows(kernel.roofline) + occupancy_rows(kernel.occupancy) + resource_rows(kernel.resources)
    )
    blocks.append(Table(("", ""), tuple(rows)))
    if diagnosis is not None:
        blocks += [f"It is {literal(diagnosis.message)}.", *_what_helps(diagnosis), *_evidence(diagnosis)]
    blocks += [f"Partial: {literal(why)}" for why in (kernel.partial, report.partial) if why]
    blocks.append(
        f"{report.provenance.capitalize()} on {literal(report.device.name)}, {literal(report.tool)}"
    )
    return blocks


def stall_table(row: Line, unit: str = "cycles") -> Table:
    """The reasons that a line waits for, longest first, as bars."""
    ranked = sorted(
        ((n, c) for n, c in row.stalls.items() if c >= _SMALLEST * row.stall), key=lambda i: -i[1]
    )
    rows = tuple(
        (reason(n), bar(c / row.stall), percent(c / row.stall), count(c), REASONS.get(n, ("", ""))[1])
        for n, c in ranked
    )
    return Table(("waits for", "", "share", unit, "meaning"), rows, frozenset({2, 3}))


def memory_sentence(memory: Memory) -> str:
    """What the accesses of a line touch, against what they need."""
    parts = [f"{count(memory.accesses)} wave {memory.kind}s of {memory.bytes_per_lane} B per lane"]
    if memory.space == "lds":
        if memory.lds_cycles > 0:
            wasted = memory.lds_conflict_cycles / memory.lds_cycles
            parts.append(f"bank conflicts take {percent(wasted)} of {count(memory.lds_cycles)} LDS cycles")
    elif memory.lines_needed > 0:
        factor = memory.lines_used / memory.lines_needed
        parts.append(
            f"touch {count(memory.lines_used)} cache lines of {memory.line_bytes} B where "
            f"{count(memory.lines_needed)} would do ({factor:.1f}x)"
        )
    if memory.memory_lines is not None and memory.memory_lines > 0:
        parts.append(f"{size(memory.memory_lines * memory.line_bytes)} from or to HBM")
    if memory.kind == "atomic" and memory.same_address_share is not None:
        parts.append(f"{percent(memory.same_address_share)} of them on one cache line")
    if memory.atomic_conflicts:
        parts.append(f"{count(memory.atomic_conflicts)} lanes waited for another lane on their address")
    return (
        f"**{'LDS' if memory.space == 'lds' else memory.space.capitalize()} memory:** "
        + ", ".join(parts)
        + "."
    )


def roofline_rows(roofline: Roofline) -> list[tuple[str, str]]:
    """The kernel's place under the roof, as far as it is known: work per byte, then each ceiling, the closest first."""
    rows = []
    if roofline.intensity is not None:
        ridge = f", the ridge is at {roofline.ridge:.1f}" if roofline.ridge is not None else ""
        rows.append(("arithmetic intensity", f"{roofline.intensity:.2f} flop/B{ridge}"))
    if not roofline.ceilings:
        return rows + _peak_rows(roofline)
    order = sorted(roofline.ceilings, key=lambda r: -(r.fraction or 0.0))
    return rows + [
        (_CEILINGS.get(r.name, r.name.replace("_", " ")), _reach_text(r)) for r in order[:_SHOWN_CEILINGS]
    ]


_CEILINGS = {
    "hbm": "memory",
    "mall": "Infinity Cache",
    "l2": "L2",
    "l1": "L1",
    "lds": "LDS",
    "issue": "instructions",
    "valu": "vector instructions",
    "vmem": "memory units",
    "atomic": "atomics",
}
_SHOWN_CEILINGS = 5
_SHOWN_UNITS = 3
_NO_UNITS = frozenset({"launch", "round_trip"})  # what any launch takes, not a part of the GPU
_MOST_FINDINGS = 3


def _reach_text(reach: Reach) -> str:
    unit = reach.unit.replace("FLOP", "flop").replace("OP/", "op/").replace("instructions", "I")
    text = rate(reach.per_s, unit)
    if reach.ceiling is None or reach.fraction is None:
        return text
    peak = "the measured peak " if reach.basis == "measured" else ""
    most = rate(reach.ceiling, unit)
    return f"{bar(min(1.0, reach.fraction)).rstrip()} {text}, {percent(reach.fraction)} of {peak}{most}"


def _peak_rows(roofline: Roofline) -> list[tuple[str, str]]:
    rows = []
    for label, unit, achieved, peak in (
        ("compute", "flop/s", roofline.flops_per_s, roofline.peak_flops_per_s),
        ("HBM", "B/s", roofline.bytes_per_s, roofline.peak_bytes_per_s),
    ):
        if achieved is None:
            continue
        text = rate(achieved, unit)
        if peak:
            text = f"{bar(achieved / peak).rstrip()} {text}, {percent(achieved / peak)} of {rate(peak, unit)}"
        rows.append((label, text))
    return rows


def occupancy_rows(occupancy: Occupancy | None) -> list[tuple[str, str]]:
    """Waves per SIMD, of how many, and what holds it down."""
    if occupancy is None or not occupancy.maximum:
        return []
    waves, most = occupancy.theoretical, occupancy.maximum
    text = f"{bar(waves / most).rstrip()} {waves:g} of {most:g} waves per SIMD"
    rows = [("occupancy", f"{text}, limited by {occupancy.limiter}" if waves < most else text)]
    step, launched, achieved = occupancy.next_step, occupancy.launched, occupancy.achieved
    if step is not None:
        rows.append(
            (
                "next step",
                f"{step.now:,} -> {step.then:,} {step.resource} gives {step.waves:g} waves per SIMD",
            )
        )
    if launched is not None and launched < waves:
        rows.append(("launched", f"{three(launched)} waves per SIMD: the largest launch fills no more"))
    if achieved is not None:
        rows.append(("achieved", f"{three(achieved)} waves per SIMD on average"))
    return rows


def resource_rows(resources: Resources) -> list[tuple[str, str]]:
    """Registers, LDS and scratch of the code object."""
    kinds = (("VGPR", resources.vgprs), ("AGPR", resources.agprs), ("SGPR", resources.sgprs))
    registers = [f"{number} {kind}" for kind, number in kinds if number]
    rows = [("registers", ", ".join(registers))] if registers else []
    if resources.lds_bytes:
        rows.append(("LDS", f"{size(resources.lds_bytes)} per workgroup"))
    if resources.scratch_bytes:
        spills = resources.vgpr_spills
        rows.append(
            (
                "scratch",
                f"{size(resources.scratch_bytes)} per lane" + (f", {spills} VGPR spills" if spills else ""),
            )
        )
    return rows


def evidence_values(evidence: Evidence) -> tuple[str, str]:
    """Value and ideal of one piece of evidence, with the unit."""
    return _number(evidence.value, evidence.unit), _number(evidence.ideal, evidence.unit)


def busy_words(busy: Mapping[str, float]) -> str:
    """`LDS 94 % busy · memory 30 %`: the units that were busy the longest; empty where that is not known."""
    order = sorted(
        (unit for unit in busy if busy[unit] > 0 and unit not in _NO_UNITS), key=lambda unit: -busy[unit]
    )[:_SHOWN_UNITS]
    words = [f"{_CEILINGS.get(unit, reason(unit))} {percent(busy[unit])}" for unit in order]
    return " · ".join([f"{words[0]} busy", *words[1:]]) if words else ""


def bound_words(bound: str | None) -> str:
    """`memory` -> `memory bound`; empty when it is not known."""
    if not bound or bound == "unknown":
        return ""
    return _BOUNDS.get(bound, f"{bound} bound")


def decision_rows(provenance: str, roofline: Roofline) -> list[tuple[str, str]]:
    """Of a measured kernel, the numbers that decided what limits it, and what it may be instead."""
    if provenance != "measured":
        return []
    rows = [("because", roofline.why)] if roofline.why else []
    return rows + ([("within 5 %", ", ".join(map(bound_words, roofline.near)))] if roofline.near else [])


def _number(value: float | str | None, unit: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if unit in ("share", "fraction"):
        return percent(value)
    if unit == "%":
        return f"{value:.0f} %"
    if unit == "ns":
        return duration(value)
    if unit in ("B", "bytes"):
        return size(value)
    return f"{count(value)} {unit}".strip()
