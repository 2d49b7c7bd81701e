"""The numbers that decide what is worth reporting: one table, each with its meaning and where it comes from.

Shares of time are judged by the setting `min_share`; these say when an access pattern counts as bad at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """One row of the table."""

    value: float
    meaning: str
    source: str


_ROWS: Mapping[str, Threshold] = {
    "bankConflict.degree": Threshold(
        1.5,
        "LDS cycles over the cycles that the same accesses need without conflicts",
        "half a pass more than the two that 32-bit accesses of a wave take anyway (CDNA3 ISA, 32 lanes per pass)",
    ),
    "memoryAccess.excess": Threshold(
        2.5,
        "cache lines used over lines needed",
        "rows that do not start on a 128-byte line use up to twice the lines that they need (CDNA3 ISA, L2 line)",
    ),
    "memoryAccess.reachable_bandwidth": Threshold(
        0.75,
        "part of the peak bandwidth that streaming kernels reach",
        "device table: 3.96 of 5.3 TB/s for reads measured on an MI300X",
    ),
    "atomicContention.same_line": Threshold(
        1 / 16,
        "part of an instruction's atomic operations on its busiest cache line",
        "16 L2 channels of an XCD work in parallel (CDNA3 white paper): with fewer lines some are idle",
    ),
    "atomicContention.wait": Threshold(
        0.05,
        "part of the kernel's wave cycles that wait for the atomics",
        "below it their plain latency explains the waits (device table: 382 cycles without contention)",
    ),
    "gate.occupancy_cliff": Threshold(
        0.5,
        "part of the waves per SIMD that a rewrite must leave",
        "ours: with half of the waves gone, the latency that they hid shows up with other inputs or launch shapes",
    ),
    "atomicContention.requests": Threshold(
        0.25,
        "part of the L2's requests that are atomics, where only counters are known",
        "assumed: below it loads and stores explain waits as well",
    ),
    "atomicContention.counted_wait": Threshold(
        0.5,
        "part of the waves' time that they wait, where only counters are known",
        "assumed: waves that issue for half of the time do not queue",
    ),
    "registerPressure.step": Threshold(
        0.2,
        "part of its registers that a kernel must give up for one more wave per SIMD",
        "assumed: a compiler finds that much by ordering and recomputing; the steps are LLVM's (512 registers)",
    ),
    "branchDivergence.lanes": Threshold(
        0.75,
        "active lanes of an instruction over the lanes that its waves were launched with",
        "assumed: what a guard at the end of a grid, or the last steps of a reduction, leave idle stays above it",
    ),
    "memoryLocality.fetches": Threshold(
        2.0,
        "how often the same cache line comes from memory",
        "twice the one time that is unavoidable; rows that straddle a line shared by two XCDs stay below it",
    ),
    "latencyHiding.rounds": Threshold(
        4.0,
        "how often each wave executes a load that is waited for",
        "assumed: a wave that loads fewer times has nothing that could be loaded ahead",
    ),
    "latencyHiding.bandwidth": Threshold(
        0.5,
        "part of the peak bandwidth above which memory, not latency, is the limit",
        "the emulator's own rule for 'latency': no unit busy for half of the time; below roofline's 60 %",
    ),
    "precision.slow": Threshold(
        0.1,
        "part of the kernel's vector issue cycles in quarter-rate operations",
        "assumed: an occasional division is no bottleneck",
    ),
    "precision.cycles_kept": Threshold(
        20.0,
        "issue cycles that one fast operation still takes",
        "device table: 16 for the operation itself and 4 for one multiplication",
    ),
    "loadImbalance.long_ns": Threshold(
        50000.0,
        "nanoseconds of a launch below which the start of its waves and their luck with memory look like uneven work",
        "ours: starting a full device of waves takes a few microseconds in the model, one slow access another",
    ),
    "loadImbalance.idle": Threshold(
        0.2,
        "part of the launch that a mean wave has ended before",
        "assumed: waves of equal work end within a few per cent of each other in the model, up to 15 % beside others",
    ),
    "loadImbalance.polling": Threshold(
        0.2,
        "part of the wave time in loads past the caches, from which on waves end as others let them",
        "assumed: a load for a flag or two takes a few per cent; HeCBench bh's sort spends 69 % in them",
    ),
    "spinning.rounds": Threshold(
        1.5,
        "rounds per wave of a loop that only looks for what other waves write",
        "ours: a look or two find a flag that was set before; fewer rounds than waves are no waiting",
    ),
    "launchOverhead.launches": Threshold(
        8.0,
        "launches of a kernel from which their number is a finding",
        "ours: fewer are worth no fusing; a short launch is then told as one",
    ),
    "launchOverhead.long_ns": Threshold(
        15000.0,
        "nanoseconds of a launch above which launching is a small part of it",
        "ten times the shortest launch",
    ),
    "launchConfig.busy": Threshold(
        0.8,
        "part of the CUs, SIMDs, lanes or rounds of workgroups that a launch can keep busy",
        "assumed: a grid that is given by its data leaves a little idle at its end, and that is not worth a finding",
    ),
    "any.kernel_share": Threshold(
        0.05,
        "part of the GPU time from which a kernel's hot lines are explained",
        "ours: below it a kernel twice as fast is not seen in the program",
    ),
    "any.hint": Threshold(
        0.005,
        "part of a kernel's time at stake from which what is below min_share is told as a hint",
        "ours: less is rounded to nothing when it is shown",
    ),
    "any.gain_least": Threshold(
        0.4,
        "part of a promised gain, as logarithms, that three of four verified edits reach",
        "56 kernels of public programs with a finding and an edit (docs/real-programs.md): quartiles 0.4, 0.9, 1.4",
    ),
    "any.gain_most": Threshold(
        1.4,
        "part of a promised gain, as logarithms, that three of four verified edits stay below",
        "as any.gain_least",
    ),
    "any.launch_floor_ns": Threshold(
        1500.0,
        "nanoseconds that the shortest launch takes",
        "device table: the shortest kernels of a recorded MI300X trace; no rewrite of a kernel takes less",
    ),
    "any.launch_ns": Threshold(
        5000.0,
        "nanoseconds of one launch below which its cost is that of launching",
        "device table: launches of empty kernels take 4.2 us between events (MI300A measurements)",
    ),
}

THRESHOLDS: Mapping[str, float] = {name: row.value for name, row in _ROWS.items()}
