"""What the bank conflict recipes ask about a `__shared__` array: is every use a full subscript, what do lanes hit?

Takes an array and the kernel, gives its uses, its extents and the conflict cycles of one wave by the static lane model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipscope.analysis.source.nodes import text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, SharedArray, Subscript
from hipscope.formulas.facts.lane_model import Lanes, NotStatic, evaluate, lds_conflict_cycles, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts


def full_uses(array: SharedArray, kernel: KernelSyntax) -> list[Subscript] | str:
    """All uses of a static array of two or more dimensions, or why its layout must stay."""
    if array.dynamic:
        return f"`{array.name}` is dynamic LDS: its size is set at the launch"
    if len(array.dimensions) < 2 or len(array.sizes) != len(array.dimensions):
        return f"`{array.name}` is not a two-dimensional array"
    uses = [s for s in kernel.subscripts if s.base == array.name]
    mentions = [n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) == array.name]
    full = [s for s in uses if len(s.indices) == len(array.dimensions) and s.use != "address"]
    if len(mentions) != 1 + len(full):
        return f"`{array.name}` is also used other than by full subscripts, so its layout matters"
    return full


def extents(
    array: SharedArray, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts
) -> tuple[int, ...] | None:
    """The array's dimensions as numbers; None when they are not known."""
    launch = facts.launches[0] if facts.launches else LaunchFact((64, 1, 1), (64, 1, 1))
    nodes = [file.root.named_descendant_for_byte_range(s.start, s.end) for s in array.sizes]
    try:
        wave = wave_values(kernel, launch, file.constants, at=kernel.body_node)
        return tuple(int(evaluate(n, wave)[0]) for n in nodes if n is not None)
    except NotStatic:
        return None


def room(shape: tuple[int, ...], size: int, more: int, facts: LaunchFacts) -> int:
    """Bytes of LDS that a workgroup needs with `more` elements in each row of an array of that shape."""
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
    return max(facts.static_lds, rows * shape[-1] * size) + rows * more * size + dynamic


def conflicts(
    uses: Sequence[Subscript],
    place: Callable[[Sequence[Lanes]], Lanes],
    size: int,
    kernel: KernelSyntax,
    file: FileSyntax,
    facts: LaunchFacts,
) -> int | None:
    """Conflict cycles of one wave over all accesses, for the first launch; None when addresses are not static.

    `place` turns the indices of an access into the element's number in the array.
    """
    if not facts.launches:
        return None
    total = 0
    for use in uses:
        try:
            wave = wave_values(kernel, facts.launches[0], file.constants, at=use.node)
            flat = place([evaluate(index, wave) for index in use.indices])
        except NotStatic:
            return None
        kinds = {"read": (False,), "write": (True,)}.get(use.use, (False, True))  # an update is both
        total += sum(lds_conflict_cycles(flat * size, size, write=w, device=facts.device) for w in kinds)
    return total


def by_rows(shape: Sequence[int]) -> Callable[[Sequence[Lanes]], Lanes]:
    """Where an element lies in an array of that shape, as C++ lays it out."""

    def place(indices: Sequence[Lanes]) -> Lanes:
        flat = indices[0]
        for extent, index in zip(shape[1:], indices[1:], strict=True):
            flat = flat * extent + index
        return flat

    return place
