"""Slow arithmetic: double precision that the data do not have, divisions and functions at a quarter of the rate.

Takes a kernel's vector instructions, gives a finding per line whose instructions are slow where faster ones would do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import ClassVar

from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.profile import Device, Instruction, Kernel, Profile
from hipscope.analysis.source.text_queries import code_line, function_text
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Objective, Work
from hipscope.formulas.detect.dataflow import uniform_instructions
from hipscope.formulas.detect.instruction_mix import (
    VECTOR_CYCLES,
    counts_all,
    executions,
    is_double,
    is_transcendental,
    is_valu,
    issue_cycles,
    mnemonic,
    vector_cycles_per_wave,
    waves,
)
from hipscope.formulas.detect.sites import Site, finding_at, sites
from hipscope.formulas.detect.slow_arithmetic import SlowLine, slow_lines
from hipscope.formulas.detect.time_at_stake import beyond_traffic, cost_share, long_enough, smaller
from hipscope.formulas.tables import THRESHOLDS, Worded

DOUBLE = "fp64 VALU instructions per wave"
SLOW = "transcendental instructions per wave"
_NO_DOUBLES = frozenset(
    ["float", "int", "unsigned", "char", "signed", "short", "long", "bool", "const", "volatile", "restrict"]
)
_WIDEN = frozenset({"v_cvt_f64_f32", "v_cvt_f64_i32", "v_cvt_f64_u32"})
_NARROW = "v_cvt_f32_f64"
_MOSTLY = 0.6  # of a line's cycles: then hoisting the rest of it is possible as well


class Precision(Worded):
    """Literals without `f`, `double` overloads, division in an inner loop, `pow` with a small exponent."""

    name: ClassVar[str] = "precision"
    objectives: ClassVar[tuple[Objective, ...]] = (
        Objective(DOUBLE, "down"),
        Objective(SLOW, "down"),
        Objective(VECTOR_CYCLES, "down", own=True),
    )
    keeps: ClassVar[frozenset[Work]] = frozenset({"bytes"})

    def detect(self, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
        """One finding per line and kind, worst first."""
        if kernel.sampled or not kernel.instructions or not long_enough(kernel):
            return []
        doubles = _doubles(self.name, profile, kernel, texts)
        spoken = {(f.file, f.line) for f in doubles}
        return sorted((*doubles, *_slow(self.name, profile, kernel, spoken, texts)), key=lambda f: -f.share)

    def measure(self, kernel: Kernel, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Double-precision and quarter-rate instructions that a wave executes, and what all of its vector instructions
        take: a fast division has as many slow instructions as an exact one, but fewer around them.
        """
        number = waves(kernel)
        double, slow = executions(kernel, is_double), executions(kernel, is_transcendental)
        cycles = vector_cycles_per_wave(kernel)
        if double is None or slow is None or cycles is None or not number:
            return {}
        return {DOUBLE: double / number, SLOW: slow / number, VECTOR_CYCLES: cycles}


def _doubles(formula: str, profile: Profile, kernel: Kernel, texts: SourceTexts) -> list[Finding]:
    """Lines that compute in double precision what comes from float or integers and goes back to float."""
    names = {mnemonic(i).removesuffix("_e32").removesuffix("_e64") for i in kernel.instructions if i.hits}
    if _NARROW not in names or not names & _WIDEN:
        return []
    if not _given_no_doubles(kernel.name) and any(_holds_doubles(i) for i in kernel.instructions):
        return []
    device = profile.device
    if not device.flops_fp64 or not device.flops_fp32:
        return []
    rate = device.flops_fp64 / device.flops_fp32

    def saved(instruction: Instruction) -> float:
        """A conversion goes away; other operations become faster by the ratio of the peaks."""
        return 1.0 if "v_cvt_" in mnemonic(instruction) else 1.0 - rate

    found = []
    for site in sites(kernel, is_double, lambda i: i.latency):
        if "double" in function_text(texts, site.file, site.line):
            continue
        share = cost_share(kernel, site.instructions, saved)
        valu = [i for i in kernel.instructions if is_valu(i)]
        hits = sum(i.hits for i in site.instructions)
        converted = sum(i.hits for i in site.instructions if "v_cvt_" in mnemonic(i))
        found.append(
            finding_at(
                formula,
                kernel,
                site,
                smaller(share, beyond_traffic(profile, kernel)),
                "computes in double precision although the data are float: a literal without `f`, or a double function",
                (
                    *_per_wave(kernel, DOUBLE, hits),
                    Evidence("of these, conversions", 100 * converted / hits if hits else 0.0, 0.0, "%"),
                    Evidence(
                        "part of all vector instructions", 100 * hits / sum(i.hits for i in valu), 0.0, "%"
                    ),
                    Evidence("wave time in them", 100 * cost_share(kernel, site.instructions), 0.0, "%"),
                ),
            )
        )
    return found


def _given_no_doubles(name: str) -> bool:
    """The types in a demangled name are all known, and none is `double`: 8 bytes loaded are a float2 or a long."""
    _, bracket, parameters = re.sub(r"HIP_vector_type<([a-z ]+), \du>", r"\1", name).rpartition("(")
    return bool(bracket) and "(*)" not in name and set(re.findall(r"\w+", parameters)) <= _NO_DOUBLES


def _holds_doubles(instruction: Instruction) -> bool:
    """Loads or stores 8 bytes per lane at once: the data may be double."""
    pattern = instruction.memory
    return (
        pattern is not None
        and pattern.space != "scalar"
        and pattern.bytes_per_lane == 8
        and instruction.hits > 0
    )


def _slow(
    formula: str, profile: Profile, kernel: Kernel, spoken: Collection[tuple[str, int]], texts: SourceTexts
) -> list[Finding]:
    """Lines whose divisions and functions, with all that they are expanded to, cost more than fast forms would.

    Of the `spoken` ones, something else is said.
    """
    issued = sum(issue_cycles(i) for i in kernel.instructions if is_valu(i))
    lines = [line for line in slow_lines(kernel) if (line.file, line.line) not in spoken]
    slow = sum(issue_cycles(i) for line in lines for i in line.instructions)
    if not issued or slow < THRESHOLDS["precision.slow"] * issued:
        return []
    limit = beyond_traffic(profile, kernel)
    uniform = uniform_instructions(kernel)
    found = []
    for line in lines:
        share = smaller(_avoidable(line, uniform) * cost_share(kernel, line.instructions), limit)
        words = _words(line, code_line(texts, line.file, line.line))
        found.append(_slow_finding(formula, kernel, line, share, uniform, words))
    return found


def _words(line: SlowLine, text: bytes) -> str:
    """What a line does; at the head of a loop that does it once, why it is done there."""
    if not line.once_for_a_loop or _LOOP_HEAD.match(text) is None:
        return line.words
    if line.kind != "integer division":
        return "divides or computes slow functions before the loop, for all of its steps"
    return f"{line.words} to count the loop's steps in advance (with a constant step it need not)"


_LOOP_HEAD = re.compile(rb"\s*(?:\}\s*)?(?:for|while)\s*\((?![^;]*[/%])")  # but for divisions that begin it


def _avoidable(line: SlowLine, uniform: Collection[int]) -> float:
    """The part of a line's cost that a fast form saves; of what is the same for all lanes, all of it."""
    cycles = sum(issue_cycles(i) for i in line.instructions)
    if not cycles:
        return 0.0
    same = sum(issue_cycles(i) for i in line.instructions if i.index in uniform) / cycles
    kept = line.operations * THRESHOLDS["precision.cycles_kept"] / cycles
    return 1.0 if same >= _MOSTLY else max(0.0, 1 - kept)


def _slow_finding(
    formula: str, kernel: Kernel, line: SlowLine, share: float, uniform: Collection[int], words: str
) -> Finding:
    """What a line spends on slow operations."""
    issued = sum(issue_cycles(i) for i in kernel.instructions if is_valu(i))
    cycles = sum(issue_cycles(i) for i in line.instructions)
    slow = sum(i.hits for i in line.instructions if is_transcendental(i))
    same = sum(issue_cycles(i) for i in line.instructions if i.index in uniform)
    kept = THRESHOLDS["precision.cycles_kept"]
    hoist = (
        "; the same for all lanes, so once per workgroup or on the host would do"
        if same >= _MOSTLY * cycles
        else ""
    )
    frame = user_frame(line.instructions[0].source)
    column = ByteColumn(frame.column) if frame is not None else UNKNOWN_COLUMN
    return finding_at(
        formula,
        kernel,
        Site(line.file, line.line, column, line.instructions),
        share,
        f"{words}: {cycles / line.operations:.0f} cycles of the vector unit for each, where a fast form takes "
        f"{kept:.0f}{hoist}",
        (
            *_per_wave(kernel, SLOW, slow),
            Evidence("vector cycles per operation", cycles / line.operations, kept, "cycles"),
            Evidence("part of the kernel's vector cycles", min(100.0, 100 * cycles / issued), None, "%"),
            *(
                (Evidence("of the line, the same for all lanes", 100 * same / cycles, 0.0, "%"),)
                if same
                else ()
            ),
        ),
    )


def _per_wave(kernel: Kernel, metric: str, hits: int) -> tuple[Evidence, ...]:
    number = waves(kernel) if counts_all(kernel) else None
    return (Evidence(metric, hits / number, 0.0, ""),) if number else ()
