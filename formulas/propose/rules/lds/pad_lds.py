"""bankConflict: one more column for a two-dimensional LDS array, so that a column no longer lies in one bank.

Needs an array that is only ever used by full subscripts: then only the compiler depends on its row length.
"""

from __future__ import annotations

from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, SharedArray
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.lds_arrays import by_rows, conflicts, extents, full_uses, room
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
    uses = full_uses(array, kernel)
    if isinstance(uses, str):
        return uses
    size = facts.bytes_of(array.element_type)
    if size is None:
        return f"the size of `{array.element_type}` (elements of `{array.name}`) is not known"
    padding = max(1, 4 // size)
    shape = extents(array, kernel, file, facts)
    if shape is not None:
        needed = room(shape, size, padding, facts)
        if needed > facts.lds_limit:
            return f"with padding the workgroup needs {needed} bytes of LDS; the device has {facts.lds_limit}"
        before = conflicts(uses, by_rows(shape), size, kernel, file, facts)
        wider = by_rows((*shape[:-1], shape[-1] + padding))
        after = conflicts(uses, wider, size, kernel, file, facts)
        if before is not None and after is not None and after >= before:
            return f"the accesses to `{array.name}` would have as many bank conflicts with padding as without"
    return padding


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
