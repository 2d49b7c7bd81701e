"""The loops that a kernel's machine code has, whatever the compiler made of those in its source."""

from __future__ import annotations

from hipscope.analysis.profile import Instruction, Kernel

_BRANCHES = ("s_branch", "s_cbranch")


def machine_loops(kernel: Kernel) -> tuple[tuple[int, int], ...]:
    """First and last index of each loop: what a branch back jumps over, itself included."""
    place = {i.address: i.index for i in kernel.instructions}
    found = []
    for i in kernel.instructions:
        address = branch_target(i)
        target = place.get(address) if address is not None else None
        if target is not None and target <= i.index:
            found.append((target, i.index))
    return tuple(found)


def branch_target(instruction: Instruction) -> int | None:
    """The address that a branch leads to: words of 4 bytes from the next instruction, in 16 bits with a sign."""
    name, _, rest = instruction.text.partition(" ")
    if not name.startswith(_BRANCHES) or not rest.strip().isdigit():
        return None
    words = int(rest)
    return instruction.address + 4 + 4 * (words - (1 << 16) if words >= 1 << 15 else words)
