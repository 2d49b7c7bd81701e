"""What kinds of machine instructions a kernel executed.

Takes a kernel, gives counts from its instructions, or from its counters where a capture has no instructions. None is
what neither tells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from hipscope.analysis.profile import Dispatch, Instruction, Kernel

VECTOR_CYCLES = "vector cycles per wave"
_ISSUE_CYCLES = 4.0  # of a full-rate vector instruction: 64 lanes on a 16-lane SIMD (CDNA3 ISA)
_SLOW_CYCLES = 16.0  # of a quarter-rate one (LLVM's scheduling model)
_TRANSCENDENTAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")


def mnemonic(instruction: Instruction) -> str:
    """The name of the operation."""
    return _first_word(instruction.text)


@lru_cache(maxsize=1 << 14)
def _first_word(text: str) -> str:
    return text.split(None, 1)[0] if text else ""


def is_valu(instruction: Instruction) -> bool:
    """A vector instruction that computes; matrix instructions are not meant."""
    name = mnemonic(instruction)
    return name.startswith("v_") and not name.startswith(("v_mfma", "v_smfmac", "v_accvgpr"))


def is_double(instruction: Instruction) -> bool:
    """Computes in double precision, or converts to or from it."""
    return is_valu(instruction) and "_f64" in mnemonic(instruction)


def is_transcendental(instruction: Instruction) -> bool:
    """One of the quarter-rate operations: exp, log, sin, cos, roots and reciprocals (also those within divisions)."""
    return mnemonic(instruction).startswith(_TRANSCENDENTAL)


def issue_cycles(instruction: Instruction) -> float:
    """Cycles that a SIMD is busy issuing it, over all executions."""
    return instruction.hits * (_SLOW_CYCLES if is_transcendental(instruction) else _ISSUE_CYCLES)


def vector_cycles_per_wave(kernel: Kernel) -> float | None:
    """Cycles that a SIMD is busy with one wave's vector instructions; None unless all were counted."""
    number = waves(kernel)
    if not counts_all(kernel) or not number:
        return None
    return sum(issue_cycles(i) for i in kernel.instructions if is_valu(i)) / number


def is_scratch(instruction: Instruction) -> bool:
    """Reads or writes the memory behind spilled registers and arrays that do not fit into registers."""
    return mnemonic(instruction).startswith("scratch_")


def is_synchronising(instruction: Instruction) -> bool:
    """A load that goes past the caches of its XCD (`sc1`, CDNA3 ISA 9.1.4): how waves look for each other's results."""
    return "_load" in mnemonic(instruction) and " sc1" in instruction.text


def counts_all(kernel: Kernel) -> bool:
    """All waves' instructions and lanes were counted, as the emulator does. Traces and samples see some waves only."""
    return not kernel.sampled and any(i.lanes for i in kernel.instructions)


def has_patterns(kernel: Kernel) -> bool:
    """What the instructions accessed was recorded; else counters have to do."""
    return any(i.memory is not None for i in kernel.instructions)


def executions(kernel: Kernel, wanted: Callable[[Instruction], bool]) -> int | None:
    """How often waves executed such instructions; None unless all of them were counted."""
    if not counts_all(kernel):
        return None
    return sum(i.hits for i in kernel.instructions if wanted(i))


def waves(kernel: Kernel) -> float | None:
    """Waves of the profiled launches: counted, else from the launches' shapes; None when neither is known."""
    counted = kernel.counters.get("SQ_WAVES")
    if counted:
        return counted
    profiled = [d for d in kernel.dispatches if d.profiled]
    if not profiled or any(0 in (*d.grid, *d.workgroup) for d in profiled):
        return None
    size = kernel.resources.wave_size
    return None if size is None else float(sum(workgroups(d) * _waves_per_group(d, size) for d in profiled))


def per_wave(kernel: Kernel, metric: str, which: Callable[[Instruction], bool]) -> dict[str, float]:
    """How many of these instructions a wave executes, as that metric; nothing where not all are counted."""
    number = waves(kernel)
    if not counts_all(kernel) or not number:
        return {}
    return {metric: sum(i.hits for i in kernel.instructions if which(i)) / number}


def launched_lanes(kernel: Kernel) -> float | None:
    """Lanes that a wave of the profiled launches starts with, on average; None without shapes.

    A workgroup that is no multiple of the wave leaves lanes of its last wave idle.
    """
    profiled = [d for d in kernel.dispatches if d.profiled]
    lanes = sum(workgroups(d) * d.workgroup[0] * d.workgroup[1] * d.workgroup[2] for d in profiled)
    size = kernel.resources.wave_size
    started = sum(workgroups(d) * _waves_per_group(d, size) for d in profiled) if size is not None else 0
    return lanes / started if lanes and started else None


def largest_workgroup(kernel: Kernel) -> float | None:
    """Work-items of the largest workgroup that was launched; None without shapes."""
    largest = max((d.workgroup[0] * d.workgroup[1] * d.workgroup[2] for d in kernel.dispatches), default=0)
    return float(largest) if largest else None


def workgroups(dispatch: Dispatch) -> int:
    """Workgroups of a launch whose shape is known; 0 else."""
    count = 1
    for items, size in zip(dispatch.grid, dispatch.workgroup, strict=True):
        count *= -(-items // size) if size else 0
    return count


def _waves_per_group(dispatch: Dispatch, wave_size: int) -> int:
    x, y, z = dispatch.workgroup
    return -(-x * y * z // wave_size)
