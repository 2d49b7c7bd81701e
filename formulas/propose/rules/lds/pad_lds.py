"""bankConflict: one more column for a two-dimensional LDS array, so that a column no longer lies in one bank.

Needs an array that is only ever used by full subscripts: then only the compiler depends on its row length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, SharedArray, Subscript
from hipscope.formulas.facts.lane_model import NotStatic, evaluate, lds_conflict_cycles, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import used_otherwise
from hipscope.formulas.propose.splice import Splice


@rewrite("pad_lds", "LDS and reductions", "bankConflict", rank=11)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> list[Candidate] | str:
    """Adds a column to a two-dimensional `__shared__` array.

    Needs: only full subscripts of the array; the LDS still fits; fewer conflicts by the lane model.
    """
    file = parse(source)
    reasons: list[str] = []
    paddings: list[tuple[SharedArray, int]] = []
    for array in kernel.shared:
        padding = _padding(array, kernel, file, facts)
        if isinstance(padding, str):
            reasons.append(padding)
        else:
            paddings.append((array, padding))
    if not paddings:
        return "; ".join(reasons) if reasons else "the kernel declares no __shared__ array"
    choices = [[p] for p in paddings] + ([paddings] if len(paddings) > 1 else [])
    return [_candidate(source, choice) for choice in choices]


def _padding(array: SharedArray, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts) -> int | str:
    """How many elements to add to the last dimension, or why not."""
    if array.dynamic:
        return f"`{array.name}` is dynamic LDS: its size is set at the launch"
    if len(array.dimensions) < 2 or len(array.sizes) != len(array.dimensions):
        return f"`{array.name}` is not a two-dimensional array"
    uses = [s for s in kernel.subscripts if s.base == array.name]
    full = [s for s in uses if len(s.indices) == len(array.dimensions) and s.use != "address"]
    declared = kernel.body_node.named_descendant_for_byte_range(array.span.start, array.span.end)
    known = [*(s.node for s in full), *([declared] if declared is not None else [])]
    if used_otherwise(array.name, known, kernel) is not None:
        return f"`{array.name}` is also used other than by full subscripts, so its layout matters"
    size = facts.bytes_of(array.element_type)
    if size is None:
        return f"the size of `{array.element_type}` (elements of `{array.name}`) is not known"
    padding = max(1, 4 // size)
    shape = _extents(array, kernel, file, facts)
    if shape is not None:
        rows = math.prod(shape[:-1])
        dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
        needed = max(facts.static_lds, rows * shape[-1] * size) + rows * padding * size + dynamic
        if needed > facts.lds_limit:
            return f"with padding the workgroup needs {needed} bytes of LDS; the device has {facts.lds_limit}"
        before = _conflicts(full, shape, size, kernel, file, facts)
        after = _conflicts(full, (*shape[:-1], shape[-1] + padding), size, kernel, file, facts)
        if before is not None and after is not None and after >= before:
            return f"the accesses to `{array.name}` would have as many bank conflicts with padding as without"
    return padding


def _extents(
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


def _conflicts(
    uses: Sequence[Subscript],
    shape: Sequence[int],
    size: int,
    kernel: KernelSyntax,
    file: FileSyntax,
    facts: LaunchFacts,
) -> int | None:
    """Conflict cycles of one wave over all accesses to an array of that shape, for the first launch; None when
    addresses are not static.
    """
    total = 0
    for use in uses if facts.launches else ():
        try:
            wave = wave_values(kernel, facts.launches[0], file.constants, at=use.node)
            flat = evaluate(use.indices[0], wave)
            for extent, index in zip(shape[1:], use.indices[1:], strict=True):
                flat = flat * extent + evaluate(index, wave)
        except NotStatic:
            return None
        kinds = {"read": (False,), "write": (True,)}.get(use.use, (False, True))  # an update is both
        total += sum(lds_conflict_cycles(flat * size, size, write=w, device=facts.device) for w in kinds)
    return total if facts.launches else None


def _candidate(source: bytes, paddings: list[tuple[SharedArray, int]]) -> Candidate:
    splices = []
    for array, padding in paddings:
        span = array.sizes[-1]
        simple = all(c not in array.dimensions[-1] for c in "?<>|&^=,")
        text = array.dimensions[-1] if simple else f"({array.dimensions[-1]})"
        splices.append(Splice(span.start, span.end, f"{text} + {padding}".encode()))
    names = " and ".join(f"`{array.name}`" for array, _ in paddings)
    column = "one column" if all(p == 1 for _, p in paddings) else "a few columns"
    return edited(
        source,
        splices,
        title=f"Pad {names} by {column}",
        expected=(
            "The lanes that read one column then use different LDS banks: LDS conflict cycles fall, results stay "
            "the same bit for bit."
        ),
    )
