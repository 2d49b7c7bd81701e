"""The parts of the report, each a heading and rows: device, kernel, findings, roofline, waits, accesses, ISA, counters.

Each takes what it describes and gives a `Section`, rows most important first. Nothing here knows of a budget.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from hipscope.analysis.history.importance import Importance
from hipscope.analysis.metrics.line_costs import line_costs, user_frame
from hipscope.analysis.metrics.memory_patterns import (
    coalescing,
    conflict_degree,
    ideal_lines_per_access,
    lines_per_access,
)
from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.roofline import roofline as place_under_roof
from hipscope.analysis.metrics.stalls import blamed_stalls, stall_table, total_cycles
from hipscope.analysis.profile import Device, Kernel, MemoryPattern, Profile
from hipscope.analysis.source.declarations import needed_declarations
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.base import Evidence, Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.llm.metrics import kernel_metrics
from hipscope.formulas.tables import hardware_note

_HOT_INSTRUCTIONS = 24
_COSTLY = 0.01  # instructions below that share of the cycles say nothing
_ALLOCATION_ALIGNMENT = 256  # what hipMalloc gives at least (HIP programming guide)


@dataclass(frozen=True)
class Row:
    """One row; `position` is where it stands among those that are shown."""

    position: int
    text: str


@dataclass(frozen=True)
class Section:
    """A heading, an explanation of the columns, and rows, most important first."""

    name: str
    title: str
    rows: tuple[Row, ...]
    legend: str = ""
    required: bool = False

    def text(self, rows: Sequence[Row]) -> str:
        """The section with these rows, in their order of position; empty without rows."""
        if not rows:
            return ""
        left_out = len(self.rows) - len(rows)
        return "\n".join(
            [
                f"# {self.title}",
                *([self.legend] if self.legend else []),
                *(row.text for row in sorted(rows, key=lambda r: r.position)),
                *([f"({left_out} more left out)"] if left_out else []),
            ]
        )


def device(profile: Profile) -> Section:
    """The GPU in the numbers that decide how a kernel should look."""
    d = profile.device
    xcds = "" if d.xcds is None else f" in {d.xcds} XCDs"
    known = (
        (d.compute_units, f"{d.compute_units} CUs{xcds}"),
        (d.simds_per_cu, f"each {d.simds_per_cu} SIMDs"),
        (d.max_waves_per_simd, f"of up to {d.max_waves_per_simd} waves"),
        (d.wave_size, f"of {d.wave_size} lanes"),
        (d.vgprs_per_lane, f"{d.vgprs_per_lane} VGPRs a lane and SIMD"),
        (d.lds_bytes, f"{(d.lds_bytes or 0) >> 10} KiB of LDS a CU"),
        (d.clock_mhz, f"{(d.clock_mhz or 0) / 1e3:.3g} GHz"),
        (d.hbm_bytes_per_s, f"HBM {_rate(d.hbm_bytes_per_s, 'B/s')}"),
        (d.flops_fp32, f"fp32 {_rate(d.flops_fp32, 'flop/s')}"),
        (d.flops_fp64, f"fp64 {_rate(d.flops_fp64, 'flop/s')}"),
    )
    facts = ", ".join(words for value, words in known if value is not None) or "nothing more is known of it"
    name = f"{d.name} ({d.arch})" if d.arch else d.name
    text = f"{name}: {facts}. All numbers below are {profile.provenance}."
    return Section("device", "Device", (Row(0, text),), required=True)


def kernel(profile: Profile, measured: Kernel, file: str, syntax: KernelSyntax) -> Section:
    """Which kernel, where, how long, and what it needs."""
    everything = sum(k.time_ns for k in profile.kernels)
    share = f", {_percent(measured.time_ns / everything)} of the program's GPU time" if everything else ""
    launches = len(measured.dispatches)
    needs = [
        f"{value} {words}"
        for value, words in (
            (measured.resources.vgprs, "VGPRs"),
            (measured.resources.agprs, "AGPRs"),
            (measured.resources.sgprs, "SGPRs"),
            (measured.resources.lds_bytes, "bytes of LDS"),
            (measured.resources.scratch_bytes, "bytes of scratch per work-item"),
            (measured.resources.vgpr_spills, "spilled VGPRs"),
        )
        if value
    ]
    rows = [
        f"`{measured.name}`, lines {syntax.span.line} to {syntax.span.end_line} of {file}",
        f"{measured.time_ns / 1e3:.4g} us in {launches} launch{'es' if launches != 1 else ''}{share}",
    ]
    if needs:
        rows.append("needs " + ", ".join(needs))
    if measured.partial:
        rows.append(f"partial record: {measured.partial}")
    return Section("kernel", "Kernel", tuple(Row(n, text) for n, text in enumerate(rows)), required=True)


def findings(found: Sequence[Finding], file: str) -> Section:
    """What is wrong, numbered F1, F2 ... in the order given, with the numbers that say so."""
    rows = []
    for number, finding in enumerate(found, 1):
        lines = (
            f"lines {finding.line} to {finding.end_line}"
            if finding.end_line != finding.line
            else f"line {finding.line}"
        )
        place = lines if _same_file(finding.file, file) else f"{PurePath(finding.file).name} {lines}"
        cost = f"{_percent(finding.share)} of the kernel's time"
        text = f"F{number} {finding.formula}, {place}, {cost}: {finding.message}"
        evidence = "; ".join(_evidence(e) for e in finding.evidence)
        related = "".join(f"\n   line {r.line}: {r.message}" for r in finding.related)
        rows.append(Row(number, text + (f"\n   {evidence}" if evidence else "") + related))
    if not rows:
        rows = [Row(0, "None of the formulas found a cause; the stall table says where the time goes.")]
    return Section("findings", "Findings", tuple(rows), required=True)


def launches(facts: LaunchFacts, host: Sequence[str] = ()) -> Section:
    """The captured launch shapes, the host lines that make them, and what its pointers have in common."""
    rows = []
    for launch in facts.launches:
        parts = [
            f"grid {_shape(launch.grid)} work-items, workgroup {_shape(launch.workgroup)}",
            *([f"dynamic LDS {launch.dynamic_lds} bytes"] if launch.dynamic_lds else []),
            *(f"{name} = {value}" for name, value in launch.scalars.items()),
            *(f"{name}: {size} bytes" for name, size in launch.buffer_bytes.items()),
        ]
        rows.append(", ".join(parts))
    if not rows:
        rows = ["none captured: assume any grid and workgroup"]
    rows += [f"{name} is {size} bytes in these launches" for name, size in facts.type_bytes.items()]
    rows += _pointers(facts)
    rows += ["host code, not to be changed:", *host] if host else []
    legend = f"Static LDS {facts.static_lds} of at most {facts.lds_limit} bytes. Captured:"
    found = tuple(Row(number, text) for number, text in enumerate(rows))
    return Section("launches", "Launches", found, legend, required=True)


def _pointers(facts: LaunchFacts) -> list[str]:
    """Which pointers had allocations of their own in the captured launches, and how they were aligned."""
    rows = []
    if facts.disjoint:
        rows.append(f"alone in their allocation: {', '.join(sorted(facts.disjoint))}")
    aligned: dict[int, list[str]] = defaultdict(list)
    for name in dict.fromkeys(n for launch in facts.launches for n in launch.buffer_offsets):
        offsets = [launch.buffer_offsets.get(name, 0) for launch in facts.launches]
        aligned[math.gcd(_ALLOCATION_ALIGNMENT, *offsets)].append(name)
    rows += [f"aligned to {size} bytes: {', '.join(names)}" for size, names in aligned.items()]
    return rows


def roofline(profile: Profile, measured: Kernel) -> Section:
    """Rates against peaks, and occupancy with what limits it."""
    roof = place_under_roof(measured, profile.device, profile.provenance)
    rows = [f"bound by {roof.bound}"]
    reached = max(roof.memory_fraction or 0.0, roof.flops_fraction or 0.0)
    if reached:
        rows.append(
            f"roof: with the same bytes and operations at most {1 / min(reached, 1.0):.3g} times as fast"
        )
    if roof.bytes_per_s is not None and roof.memory_fraction is not None:
        rows.append(
            f"memory {_rate(roof.bytes_per_s, 'B/s')}, {_percent(roof.memory_fraction)} of peak; "
            f"{short(roof.memory_bytes or 0)} bytes moved"
        )
    if roof.flops_per_s is not None and roof.flops_fraction is not None:
        rows.append(f"compute {_rate(roof.flops_per_s, 'flop/s')}, {_percent(roof.flops_fraction)} of peak")
    if roof.intensity is not None and roof.ridge is not None:
        rows.append(f"{roof.intensity:.3g} flop/byte; the ridge is at {roof.ridge:.3g}")
    if (waves := occupancy(measured, profile.device)) is not None:
        limit = f" by {waves.limiter}" if waves.theoretical < waves.maximum else ""
        rows.append(f"occupancy {waves.theoretical:g} of {waves.maximum} waves per SIMD{limit}")
        if waves.launched is not None:
            rows.append(f"the largest launch has {waves.launched:.3g} waves per SIMD of the device")
        if waves.achieved is not None:
            rows.append(f"achieved {waves.achieved:.3g} waves per SIMD")
    return Section("roofline", "Roofline and occupancy", tuple(Row(n, text) for n, text in enumerate(rows)))


def stalls(measured: Kernel, file: str) -> Section:
    """Where the cycles go, by source line, and the reasons for the whole kernel."""
    total = total_cycles(measured)
    if not total:
        return Section("stalls", "", ())
    reasons = ", ".join(
        f"{reason.replace('_', ' ')} {_percent(cycles / total)}"
        for reason, cycles in stall_table(measured).items()
        if cycles >= 0.01 * total
    )
    rows = [
        Row(
            cost.line,
            f"{_place(cost.file, cost.line, file)}: {_percent(cost.share)}, ran {short(cost.hits)} times"
            + "".join(
                f", {reason.replace('_', ' ')} {_percent(cycles / total)}"
                for reason, cycles in cost.stalls.items()
                if cycles >= _COSTLY * total
            ),
        )
        for cost in line_costs(measured)
        if cost.share >= 0.005
    ]
    legend = (
        "Parts of the kernel's cycles; a wait counts for the line that causes it. "
        f"Whole kernel: {reasons or 'no waits'}."
    )
    return Section("stalls", "Where the cycles go", tuple(rows), legend)


def memory(measured: Kernel, file: str) -> Section:
    """What the accesses of each line touch, worst lines first."""
    rows = [
        Row(cost.line, f"{_place(cost.file, cost.line, file)}: {text}")
        for cost in line_costs(measured)
        for pattern in cost.memory
        if (text := _access(pattern))
    ]
    return Section("memory", "Memory accesses", tuple(rows))


def isa(measured: Kernel) -> Section:
    """The machine instructions that cause the longest waits, each line of source as one row."""
    total = total_cycles(measured)
    if not total:
        return Section("isa", "", ())
    blamed = blamed_stalls(measured)
    cost = [sum(blamed[i.index].values()) + i.latency - i.stall for i in measured.instructions]
    hottest = sorted(range(len(cost)), key=lambda index: -cost[index])[:_HOT_INSTRUCTIONS]
    rows: dict[tuple[int, str], list[str]] = defaultdict(list)
    for index in sorted(i for i in hottest if cost[i] >= _COSTLY * total):
        instruction = measured.instructions[index]
        frame = user_frame(instruction.source)
        place = (frame.line if frame is not None else 0, f"x{short(instruction.hits)}")
        rows[place].append(f"{instruction.text} {_percent(cost[index] / total)}")
    legend = "By source line and times run, with the part of the cycles that each causes."
    listed = [
        Row(n, f"{f'line {line}' if line else 'no line'} {times}: {'; '.join(_joined(texts))}")
        for n, ((line, times), texts) in enumerate(sorted(rows.items()))
    ]
    return Section("isa", "Costly machine code", tuple(listed), legend)


def _joined(texts: Sequence[str]) -> Iterator[str]:
    """Instructions in order; those that differ only in their registers share an entry."""
    alike: dict[tuple[str, str], list[str]] = {}
    for text in texts:
        mnemonic = text.partition(" ")[0]
        alike.setdefault((mnemonic, text.rpartition(" ")[0].rpartition(" ")[2]), []).append(text)
    for (mnemonic, share), same in alike.items():
        yield same[0] if len(same) == 1 else f"{len(same)} {mnemonic} {share} % each"


def counters(measured: Kernel) -> Section:
    """Hardware counters of all profiled launches that are not 0; those with one beginning or one value share a row."""
    by_value: dict[float, list[str]] = defaultdict(list)
    for name, value in measured.counters.items():
        if value:
            by_value[value].append(name)
    rows: dict[str, list[str]] = defaultdict(list)
    for value, names in by_value.items():
        if len(names) > 1:
            rows[short(value)].append(" ".join(names))
        else:
            start, _, rest = names[0].partition("_")
            rows[f"{start}_*"].append(f"{rest} {short(value)}")
    listed = [Row(n, f"{name}: {', '.join(values)}") for n, (name, values) in enumerate(rows.items())]
    legend = (
        "Sums over the profiled launches, as `beginning: rest value` or `value: names`; the others are 0."
    )
    return Section("counters", "Counters", tuple(listed), legend)


def importance(found: Importance) -> Section:
    """The counters that explained the kernel's time in earlier runs."""
    rows = [
        f"{one.name}: {_percent(one.importance)}, rank correlation with the time {one.correlation:+.2f}, "
        f"{short(one.lowest)} to {short(one.highest)}{f' {one.unit}' if one.unit else ''}"
        + (f" ({one.meaning})" if one.meaning else "")
        for one in found.counters
    ]
    legend = (
        f"Over {found.runs} earlier runs of this kernel; {found.words}. Each with what is lost without it."
    )
    return Section(
        "importance", "Counters that explain its time", tuple(map(Row, range(len(rows)), rows)), legend
    )


def metrics(measured: Kernel, device: Device) -> Section:
    """The names that a belief may give, with today's values; counters are listed by themselves."""
    needs = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills")
    values = {
        n: v
        for n, v in kernel_metrics(measured, device).items()
        if v and n not in {*measured.counters, *needs}
    }
    text = ", ".join(f"{name} {short(value)}" for name, value in values.items())
    rows = (Row(0, text or "none"),)
    legend = f"Also whole names of counters, {', '.join(needs)}. What is not listed is 0."
    return Section("metrics", "Metrics that a belief can name", rows, legend, required=True)


def hardware(found: Sequence[Finding]) -> Section:
    """What the hardware does in the cases of the findings, with sources."""
    notes = {f.formula: note for f in found if (note := hardware_note(f.formula)) is not None}
    rows = [Row(n, f"{name}: {note}") for n, (name, note) in enumerate(notes.items())]
    return Section("hardware", "The hardware", tuple(rows))


def declarations(
    source: bytes, syntax: KernelSyntax, headers: Mapping[str, bytes], fence: Callable[[str], str]
) -> Section:
    """What the kernel uses of the file around it; each stands in a block of its own."""
    rows = []
    for number, declaration in enumerate(needed_declarations(source, syntax, headers)):
        text = fence(declaration.text.replace("\r\n", "\n"))
        rows.append(Row(number, f"in {declaration.file}:\n{text}" if declaration.file else text))
    return Section("declarations", "Declarations that it uses", tuple(rows))


def _access(pattern: MemoryPattern) -> str:
    parts = [
        f"{pattern.space} {pattern.kind}, {pattern.bytes_per_lane} bytes per lane, {short(pattern.accesses)} times"
    ]
    if (used := lines_per_access(pattern)) is not None and (
        ideal := ideal_lines_per_access(pattern)
    ) is not None:
        parts.append(f"{used:.3g} cache lines of {pattern.line_bytes} bytes each time, {ideal:.3g} if dense")
    if (dense := coalescing(pattern)) is not None:
        parts.append(f"{_percent(dense)} coalesced")
    if (degree := conflict_degree(pattern)) is not None and degree > 1:
        parts.append(f"bank conflicts make it {degree:.3g} times as long")
    for name, hits in (("L1", pattern.l1_hits), ("L2", pattern.l2_hits)):
        if hits and pattern.lines_used:
            parts.append(f"{_percent(min(1.0, hits / pattern.lines_used))} {name} hits")
    if pattern.kind == "atomic":
        if pattern.atomic_conflicts:
            parts.append(f"{pattern.atomic_conflicts:.6g} lanes waited for another lane on their address")
        if pattern.same_address_share is not None:
            parts.append(f"{_percent(pattern.same_address_share)} on the busiest cache line")
    return ", ".join(parts)


def _evidence(evidence: Evidence) -> str:
    unit = f" {evidence.unit}" if evidence.unit else ""
    ideal = f" (ideal {_value(evidence.ideal)})" if evidence.ideal is not None else ""
    return f"{evidence.metric} {_value(evidence.value)}{unit}{ideal}"


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else short(value)


def _place(path: str, line: int, file: str) -> str:
    return f"line {line}" if _same_file(path, file) else f"{PurePath(path).name}:{line}"


def _same_file(path: str, file: str) -> bool:
    return PurePath(path).name == PurePath(file).name


def _shape(shape: tuple[int, int, int]) -> str:
    return "x".join(map(str, shape))


def _percent(share: float) -> str:
    value = share * 100
    return f"{value:.0f} %" if value >= 9.5 or value == 0 else f"{value:.2g} %"


def short(value: float) -> str:
    """Three digits and a prefix: each further digit is a token, and no decision hangs on it."""
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / limit * (10 if prefix == 'k' else 1):.3g}{prefix}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _rate(per_second: float | None, unit: str) -> str:
    if per_second is None:
        return "unknown"
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if per_second >= limit:
            return f"{per_second / limit:.3g} {prefix}{unit}"
    return f"{per_second:.3g} {unit}"
