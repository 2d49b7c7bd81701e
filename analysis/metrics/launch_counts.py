"""How often a program launches each kernel, and which kernels do other work in another order of waves and workgroups.

Takes profiles of runs of the original and of the program with a rewrite. Says what may be other than before because it
is in runs of the original, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipscope.analysis.profile import Profile

_WORK = ("SQ_INSTS_VALU", "SQ_INSTS_SALU")


def launch_counts(profile: Profile) -> dict[str, int]:
    """How often each kernel was launched, by mangled name: also those for whose times there was no time left."""
    found = {kernel.mangled: len(kernel.dispatches) for kernel in profile.kernels}
    return {name: found.get(name, 0) + profile.untimed.get(name, 0) for name in (*found, *profile.untimed)}


def other_launches(old: Profile, new: Profile) -> bool:
    """Whether a kernel that both runs have is not launched as often in both."""
    before, after = launch_counts(old), launch_counts(new)
    return any(after.get(name, count) != count for name, count in before.items())


def as_often(mangled: str, before: int, after: int, others: Sequence[Profile]) -> bool:
    """Whether a kernel is launched as often as in runs of the original: exactly so, or where their numbers vary, by
    races that the program itself decides by, no farther from them than they are apart.
    """
    known = [before, *(found[mangled] for p in others if mangled in (found := launch_counts(p)))]
    apart = max(known) - min(known)
    return min(known) - apart <= after <= max(known) + apart


def varying_counts(old: Profile, others: Sequence[Profile]) -> dict[str, tuple[int, int]]:
    """The least and the most launches of each kernel of which runs of the original launch other numbers."""
    runs = [launch_counts(p) for p in (old, *others)]
    known = {name: [run[name] for run in runs if name in run] for name in runs[0]}
    return {name: (min(counts), max(counts)) for name, counts in known.items() if min(counts) < max(counts)}


def other_work(old: Profile, new: Profile) -> frozenset[str]:
    """Kernels that execute other numbers of instructions in the new run, by mangled name."""
    pairs = [(kernel, new.kernel(kernel.mangled)) for kernel in old.kernels]
    return frozenset(
        kernel.mangled
        for kernel, again in pairs
        if again is not None
        and any(
            name in kernel.counters
            and name in again.counters
            and kernel.counters[name] != again.counters[name]
            for name in _WORK
        )
    )
