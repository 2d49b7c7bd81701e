"""What kinds of machine instructions a kernel executed.

Takes a kernel, gives counts from its instructions, or from its counters where a capture has no instructions. None is
what neither tells.
"""

from __future__ import annotations

from collections.abc import Callable

from hipscope.analysis.profile import Dispatch, Instruction, Kernel

_TRANSCENDENTAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")


def mnemonic(instruction: Instruction) -> str:
    """The name of the operation."""
    return instruction.text.split(None, 1)[0] if instruction.text else ""


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


def is_scratch(instruction: Instruction) -> bool:
    """Reads or writes the memory behind spilled registers and arrays that do not fit into registers."""
    return mnemonic(instruction).startswith("scratch_")


def executions(kernel: Kernel, wanted: Callable[[Instruction], bool]) -> int | None:
    """How often waves executed such instructions; None without instructions, or when they were only sampled."""
    if not kernel.instructions or kernel.sampled:
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
    return float(sum(workgroups(d) * _waves_per_group(d, kernel.resources.wave_size) for d in profiled))


def workgroups(dispatch: Dispatch) -> int:
    """Workgroups of a launch whose shape is known; 0 else."""
    count = 1
    for items, size in zip(dispatch.grid, dispatch.workgroup, strict=True):
        count *= -(-items // size) if size else 0
    return count


def _waves_per_group(dispatch: Dispatch, wave_size: int) -> int:
    x, y, z = dispatch.workgroup
    return -(-x * y * z // wave_size)
