"""The parts of the report, each a heading and rows: device, kernel, findings, roofline, waits, accesses, ISA, counters.

Each takes what it describes and gives a `Section`, rows most important first. Nothing here knows of a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

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
from hipscope.analysis.profile import Device, Instruction, Kernel, MemoryPattern, Profile
from hipscope.analysis.source.declarations import needed_declarations
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.base import Evidence, Finding
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.llm.metrics import kernel_metrics

_HOT_INSTRUCTIONS = 24
_AROUND = 2


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
    steps = "" if d.vgpr_granule is None else f" in steps of {d.vgpr_granule}"
    known = (
        (d.compute_units, f"{d.compute_units} CUs{xcds}"),
        (d.simds_per_cu, f"{d.simds_per_cu} SIMDs per CU"),
        (d.max_waves_per_simd, f"up to {d.max_waves_per_simd} waves per SIMD"),
        (d.wave_size, f"{d.wave_size} lanes per wave"),
        (d.vgprs_per_lane, f"{d.vgprs_per_lane} VGPRs per lane and SIMD{steps}"),
        (d.lds_bytes, f"{d.lds_bytes} bytes of LDS per CU"),
        (d.clock_mhz, f"{d.clock_mhz or 0:g} MHz"),
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
        if value is not None
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


def launches(facts: LaunchFacts) -> Section:
    """The launch shapes that were captured, and the LDS that they leave."""
    rows = []
    for number, launch in enumerate(facts.launches):
        parts = [
            f"grid {_shape(launch.grid)} work-items, workgroup {_shape(launch.workgroup)}",
            f"dynamic LDS {launch.dynamic_lds} bytes" if launch.dynamic_lds else "no dynamic LDS",
            *(f"{name} = {value}" for name, value in launch.scalars.items()),
            *(f"{name}: {size} bytes" for name, size in launch.buffer_bytes.items()),
        ]
        rows.append(Row(number, ", ".join(parts)))
    if not rows:
        rows = [Row(0, "none captured: assume any grid and workgroup")]
    rows += [
        Row(len(rows), f"{name} is {size} bytes in these launches") for name, size in facts.type_bytes.items()
    ]
    legend = (
        f"Static LDS {facts.static_lds} of at most {facts.lds_limit} bytes per workgroup. Captured launches:"
    )
    return Section("launches", "Launches", tuple(rows), legend, required=True)


def roofline(profile: Profile, measured: Kernel) -> Section:
    """Rates against peaks, and occupancy with what limits it."""
    roof = place_under_roof(measured, profile.device, profile.provenance)
    rows = [f"bound by {roof.bound}"]
    if roof.bytes_per_s is not None and roof.memory_fraction is not None:
        rows.append(
            f"memory {_rate(roof.bytes_per_s, 'B/s')}, {_percent(roof.memory_fraction)} of peak; "
            f"{roof.memory_bytes or 0:.4g} bytes moved"
        )
    if roof.flops_per_s is not None and roof.flops_fraction is not None:
        rows.append(f"compute {_rate(roof.flops_per_s, 'flop/s')}, {_percent(roof.flops_fraction)} of peak")
    if roof.intensity is not None and roof.ridge is not None:
        rows.append(f"{roof.intensity:.3g} flop/byte; the ridge is at {roof.ridge:.3g}")
    if (waves := occupancy(measured, profile.device)) is not None:
        limits = ", ".join(f"{name} {limit:g}" for name, limit in waves.limits.items())
        rows.append(
            f"occupancy {waves.theoretical:g} of {waves.maximum} waves per SIMD by {waves.limiter} ({limits})"
        )
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
            f"{_place(cost.file, cost.line, file)}: {_percent(cost.share)}, ran {cost.hits} times"
            + "".join(
                f", {reason.replace('_', ' ')} {_percent(cycles / total)}"
                for reason, cycles in cost.stalls.items()
                if cycles >= 0.005 * total
            ),
        )
        for cost in line_costs(measured)
        if cost.share >= 0.001
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
    return Section("memory", "Memory accesses", tuple(rows), "Per source line, over all waves.")


def isa(measured: Kernel) -> Section:
    """The machine instructions that cause the longest waits, with their neighbours."""
    total = total_cycles(measured)
    if not total:
        return Section("isa", "", ())
    blamed = blamed_stalls(measured)
    cost = [sum(blamed[i.index].values()) + i.latency - i.stall for i in measured.instructions]
    hottest = sorted(range(len(cost)), key=lambda index: -cost[index])[:_HOT_INSTRUCTIONS]
    taken: set[int] = set()
    rows = []
    for hot in hottest:
        if cost[hot] < 0.005 * total:
            break
        for index in sorted(range(hot - _AROUND, hot + _AROUND + 1), key=lambda i: abs(i - hot)):
            if 0 <= index < len(cost) and index not in taken:
                taken.add(index)
                rows.append(Row(index, _instruction(measured.instructions[index], cost[index] / total)))
    legend = "Index, part of the cycles that it causes, times run, source line, text."
    return Section("isa", "Machine code around the costly instructions", tuple(rows), legend)


def counters(measured: Kernel) -> Section:
    """Hardware counters of all profiled launches, as recorded; those that are 0 share a row."""
    counted = {name: value for name, value in measured.counters.items() if value}
    rows = [Row(n, f"{name} = {value:.6g}") for n, (name, value) in enumerate(counted.items())]
    if zero := [name for name, value in measured.counters.items() if not value]:
        rows.append(Row(len(rows), f"0: {', '.join(zero)}"))
    return Section("counters", "Counters", tuple(rows), "Sums over the profiled launches.")


def metrics(measured: Kernel, device: Device) -> Section:
    """The names that a belief may give, with today's values; counters are listed by themselves."""
    values = {n: v for n, v in kernel_metrics(measured, device).items() if n not in measured.counters}
    text = ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
    rows = (Row(0, text or "none"),)
    return Section(
        "metrics", "Metrics that a belief can name", rows, "Or a counter, if listed.", required=True
    )


def declarations(
    source: bytes, syntax: KernelSyntax, headers: Mapping[str, bytes], fence: Callable[[str], str]
) -> Section:
    """What the kernel uses of the file around it; each stands in a block of its own."""
    rows = []
    for number, declaration in enumerate(needed_declarations(source, syntax, headers)):
        text = fence(declaration.text.replace("\r\n", "\n"))
        rows.append(Row(number, f"in {declaration.file}:\n{text}" if declaration.file else text))
    return Section("declarations", "Declarations that it uses", tuple(rows))


def _instruction(instruction: Instruction, share: float) -> str:
    frame = user_frame(instruction.source)
    line = f"line {frame.line}" if frame is not None else "no line"
    return f"{instruction.index}: {_percent(share)}, {instruction.hits}, {line}: {instruction.text}"


def _access(pattern: MemoryPattern) -> str:
    parts = [
        f"{pattern.space} {pattern.kind}, {pattern.bytes_per_lane} bytes per lane, {pattern.accesses} times"
    ]
    if (used := lines_per_access(pattern)) is not None and (
        ideal := ideal_lines_per_access(pattern)
    ) is not None:
        parts.append(f"{used:.3g} cache lines of {pattern.line_bytes} bytes each time, {ideal:.3g} if dense")
    if (dense := coalescing(pattern)) is not None:
        parts.append(f"{_percent(dense)} coalesced")
    if (degree := conflict_degree(pattern)) is not None:
        parts.append(f"bank conflicts make it {degree:.3g} times as long")
    for name, hits in (("L1", pattern.l1_hits), ("L2", pattern.l2_hits)):
        if hits is not None and pattern.lines_used:
            parts.append(f"{_percent(min(1.0, hits / pattern.lines_used))} {name} hits")
    if pattern.kind == "atomic":
        if pattern.atomic_conflicts:
            parts.append(f"{pattern.atomic_conflicts:.6g} lanes waited for another lane on their address")
        if pattern.same_address_share is not None:
            parts.append(f"{_percent(pattern.same_address_share)} on the busiest cache line")
    return ", ".join(parts)


def _evidence(evidence: Evidence) -> str:
    unit = f" {evidence.unit}" if evidence.unit else ""
    ideal = f" (ideal {_value(evidence.ideal)}{unit})" if evidence.ideal is not None else ""
    return f"{evidence.metric} = {_value(evidence.value)}{unit}{ideal}"


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _place(path: str, line: int, file: str) -> str:
    return f"line {line}" if _same_file(path, file) else f"{PurePath(path).name}:{line}"


def _same_file(path: str, file: str) -> bool:
    return PurePath(path).name == PurePath(file).name


def _shape(shape: tuple[int, int, int]) -> str:
    return "x".join(map(str, shape))


def _percent(share: float) -> str:
    value = share * 100
    return f"{value:.0f} %" if value >= 9.5 or value == 0 else f"{value:.2g} %"


def _rate(per_second: float | None, unit: str) -> str:
    if per_second is None:
        return "unknown"
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if per_second >= limit:
            return f"{per_second / limit:.3g} {prefix}{unit}"
    return f"{per_second:.3g} {unit}"
