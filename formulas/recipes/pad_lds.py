"""bankConflict: one more column for a two-dimensional LDS array, so that a column no longer lies in one bank.

Needs an array that is only ever used by full subscripts: then its row length is nobody's business but the compiler's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipscope.formulas.candidate import Candidate, LaunchFact, LaunchFacts, Refusal, Splice, apply_splices
from hipscope.formulas.lanes import NotStatic, element_bytes, evaluate, lds_conflict_cycles, wave_values
from hipscope.formulas.syntax import FileSyntax, KernelSyntax, SharedArray, Subscript, parse, text_of, walk

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "pad_lds"


def propose(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> list[Candidate] | Refusal:
    """Pad each suitable array on its own, and all of them together when there are several."""
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
        return Refusal(NAME, "; ".join(reasons) if reasons else "the kernel declares no __shared__ array")
    choices = [[p] for p in paddings] + ([paddings] if len(paddings) > 1 else [])
    return [_candidate(source, choice) for choice in choices]


def _padding(array: SharedArray, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts) -> int | str:
    """How many elements to add to the last dimension, or why not."""
    if array.dynamic:
        return f"`{array.name}` is dynamic LDS: its size is set at the launch"
    if len(array.dimensions) < 2 or len(array.sizes) != len(array.dimensions):
        return f"`{array.name}` is not a two-dimensional array"
    size = element_bytes(array.element_type, facts)
    if size is None:
        return f"the size of `{array.element_type}` (elements of `{array.name}`) is not known"
    uses = [s for s in kernel.subscripts if s.base == array.name]
    mentions = [n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) == array.name]
    full = [s for s in uses if len(s.indices) == len(array.dimensions) and s.use != "address"]
    if len(mentions) != 1 + len(full):
        return f"`{array.name}` is also used other than by full subscripts, so its layout matters"
    padding = max(1, 4 // size)
    shape = _shape(array, kernel, file, facts)
    if shape is not None:
        rows = 1
        for extent in shape[:-1]:
            rows *= extent
        dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
        needed = max(facts.static_lds, rows * shape[-1] * size) + rows * padding * size + dynamic
        if needed > facts.lds_limit:
            return f"with padding the workgroup needs {needed} bytes of LDS; the device has {facts.lds_limit}"
        before = _conflicts(full, shape, size, kernel, file, facts)
        after = _conflicts(full, (*shape[:-1], shape[-1] + padding), size, kernel, file, facts)
        if before is not None and after is not None and after >= before:
            return f"the accesses to `{array.name}` would have as many bank conflicts with padding as without"
    return padding


def _shape(
    array: SharedArray, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts
) -> tuple[int, ...] | None:
    launch = facts.launches[0] if facts.launches else LaunchFact((64, 1, 1), (64, 1, 1))
    nodes = [file.root.named_descendant_for_byte_range(s.start, s.end) for s in array.sizes]
    try:
        wave = wave_values(kernel, launch, file.constants, at=kernel.body_node)
        return tuple(int(evaluate(n, wave)[0]) for n in nodes if n is not None)
    except NotStatic:
        return None


def _conflicts(
    uses: list[Subscript],
    shape: tuple[int, ...],
    size: int,
    kernel: KernelSyntax,
    file: FileSyntax,
    facts: LaunchFacts,
) -> int | None:
    """Conflict cycles of one wave over all accesses to the array, for the first launch; None when not static."""
    if not facts.launches:
        return None
    total = 0
    for use in uses:
        try:
            wave = wave_values(kernel, facts.launches[0], file.constants, at=use.node)
            flat = evaluate(use.indices[0], wave)
            for extent, index in zip(shape[1:], use.indices[1:], strict=True):
                flat = flat * extent + evaluate(index, wave)
        except NotStatic:
            return None
        total += lds_conflict_cycles(flat * size, size)
    return total


def _candidate(source: bytes, paddings: list[tuple[SharedArray, int]]) -> Candidate:
    splices = []
    for array, padding in paddings:
        span = array.sizes[-1]
        simple = all(c not in array.dimensions[-1] for c in "?<>|&^=,")
        text = array.dimensions[-1] if simple else f"({array.dimensions[-1]})"
        splices.append(Splice(span.start, span.end, f"{text} + {padding}".encode()))
    names = " and ".join(f"`{array.name}`" for array, _ in paddings)
    column = "one column" if all(p == 1 for _, p in paddings) else "a few columns"
    return Candidate(
        recipe=NAME,
        title=f"Pad {names} by {column}",
        text=apply_splices(source, splices),
        expected="The lanes that read one column then use different LDS banks: LDS conflict cycles fall, results stay "
        "the same bit for bit.",
    )
