"""Stall cycles, given to the instruction that caused the wait instead of the one that noticed it.

Takes a `Kernel`, gives cycles by reason for the kernel and per instruction. Cycles are summed over waves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hipscope.analysis.metrics.wait_reasons import wait_reason
from hipscope.analysis.profile import Kernel, StallReason

StallTable = Mapping[StallReason, float]


def stall_table(kernel: Kernel) -> StallTable:
    """Stall cycles of the whole kernel by reason, largest first."""
    total = add_stalls(instruction.stalls for instruction in kernel.instructions)
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def add_stalls(tables: Iterable[StallTable]) -> dict[StallReason, float]:
    """The sum of stall tables."""
    total: dict[StallReason, float] = {}
    for table in tables:
        for reason, cycles in table.items():
            total[reason] = total.get(reason, 0.0) + cycles
    return total


def blamed_stalls(kernel: Kernel) -> tuple[StallTable, ...]:
    """Per instruction: the stall cycles that it is the cause of, by reason.

    A wait moves to the instructions that it waited for, as a wait of their kind; what waited for nothing known stays
    where it was noticed. The sum over all instructions is that of `stall_table`.
    """
    blamed: list[dict[StallReason, float]] = [{} for _ in kernel.instructions]
    for instruction in kernel.instructions:
        left = dict(instruction.stalls)
        for producer, cycles in instruction.waited_for.items():
            reason = wait_reason(kernel.instructions[producer].text)
            moved = _take(left, reason, cycles)
            into = blamed[producer]
            into[reason] = into.get(reason, 0.0) + moved
        into = blamed[instruction.index]
        for reason, cycles in left.items():
            if cycles > 0:
                into[reason] = into.get(reason, 0.0) + cycles
    return tuple(blamed)


def total_cycles(kernel: Kernel) -> float:
    """Issue and stall cycles of all instructions: the time that waves of this kernel were resident."""
    return sum(instruction.latency for instruction in kernel.instructions)


def _take(left: dict[StallReason, float], reason: StallReason, cycles: float) -> float:
    """Remove up to `cycles` from `left`, first from the given reason; return how many there were."""
    wanted = cycles
    order = [reason, *sorted((r for r in left if r is not reason), key=lambda r: -left[r])]
    for name in order:
        taken = min(left.get(name, 0.0), wanted)
        if taken > 0:
            left[name] -= taken
            wanted -= taken
    return cycles - wanted
