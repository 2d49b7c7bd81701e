"""registerPressure: the size of workgroups as launch bounds, so that the compiler may give each thread more registers.

Without `__launch_bounds__` a kernel must fit 1024 threads, 128 registers each on CDNA. With spills the bound is the
workgroup that is launched; without, the second argument asks for one or two waves per SIMD more. A launch with a larger
workgroup than the bound fails, so the size must stand in the program's text at every launch: another run may ask for
more where it is computed.
"""

from __future__ import annotations

import math

from tree_sitter import Node

from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import MAX_THREADS
from hipscope.formulas.propose.splice import Splice

_MOST = 512  # more threads than this leave the compiler no more registers than it has anyway
_COMMON = 256
_REGISTERS = 512  # per lane of a SIMD, both kinds together (CDNA3 ISA)
_MOST_WAVES = 8


@rewrite("launch_bounds", "Loops and branches", "registerPressure", "latencyHiding", searched=True, rank=32)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`__launch_bounds__` of the launched size.

    Needs: every launch in the program's text has a constant workgroup, as the compiler reads it, also where a
    function is given it: then at each of its calls, and nothing else names that function. Where a run decides, a
    larger one would not start.
    """
    threads, bounds = _threads(facts), _bounds_of(kernel)
    if not threads and bounds is None:
        why = "a run decides the size of the workgroups, and another may have larger ones"
        return why if facts.threads else "no captured launch shows the size of the workgroups"
    if facts.needs is None:
        return "what the kernel needs of the registers is not known"
    spills = facts.needs.vgpr_spills + facts.needs.sgpr_spills > 0 or facts.needs.scratch > 0
    if spills:
        if not threads:
            return "a run decides the size of the workgroups: no smaller bound is sure to hold"
        if threads > _MOST:
            return f"the program launches workgroups of {threads} threads: a bound gives nothing"
        if bounds is not None and _value(bounds) is not None and (_value(bounds) or 0) <= threads:
            return "the kernel has launch bounds of that size already"
        texts = [str(size) for size in sorted({threads, max(threads, _COMMON)}, reverse=True)]
    else:
        waves = _waves(facts.needs.vgprs)
        if waves == _MOST_WAVES:
            return "the registers already allow all waves of a SIMD"
        if bounds is not None and len(bounds.named_children) > 1:
            return "the kernel has launch bounds for the waves already"
        first = text_of(bounds.named_children[0]) if bounds is not None and bounds.named_children else ""
        size = first or str(min(MAX_THREADS, max(threads, _COMMON)))
        texts = [f"{size}, {more}" for more in (waves + 1, waves + 2) if more <= _MOST_WAVES]
    return [_candidate(source, kernel, facts, text, spills) for text in texts]


def sizes(kernel: KernelSyntax, facts: LaunchFacts) -> tuple[str, ...]:
    """Bounds that may be tried on any kernel: the launched size, alone and with one wave per SIMD more."""
    threads = _threads(facts)
    bounds = _bounds_of(kernel)
    if not threads or facts.needs is None:
        return ()
    if bounds is not None:
        known = _value(bounds)
        return (str(threads),) if known is not None and known > threads else ()
    waves = _waves(facts.needs.vgprs)
    return (str(threads), f"{threads}, {waves + 1}") if waves < _MOST_WAVES else (str(threads),)


def promised(kernel: KernelSyntax, facts: LaunchFacts) -> tuple[int, bool] | None:
    """Threads that no workgroup goes beyond, and whether the kernel says so itself; None when neither is known."""
    bounds = _bounds_of(kernel)
    if bounds is not None:
        known = _value(bounds)
        return (known, True) if known is not None else None
    threads = _threads(facts)
    return (threads, False) if threads else None


def bounds_splice(kernel: KernelSyntax, text: str) -> Splice:
    """The splice that gives the kernel these launch bounds, in place of those that it has."""
    attribute, bounds = f"__launch_bounds__({text})", _bounds_of(kernel)
    if bounds is not None:
        return Splice(bounds.start_byte, bounds.end_byte, attribute.encode())
    at = next(c.end_byte for c in _definition(kernel).children if c.type == "__global__")
    return Splice(at, at, f" {attribute}".encode())


def assumed(kernel: KernelSyntax, facts: LaunchFacts, text: str) -> str:
    """What the bounds rely on beyond the recorded launches."""
    threads = _threads(facts)
    first = text.split(",")[0]
    limit = int(first) if first.isdigit() else threads
    return f"no launch of `{kernel.name}` has more than {limit} threads per workgroup (seen: {threads})"


def _threads(facts: LaunchFacts) -> int:
    """Of the largest workgroup; 0 when no launch was seen, or not all sizes stand in the program's text."""
    seen = max([facts.threads, *(math.prod(launch.workgroup) for launch in facts.launches)])
    return max(seen, facts.written) if seen and facts.written is not None else 0


def _waves(vgprs: int) -> int:
    """Waves per SIMD that the registers allow."""
    return max(1, min(_MOST_WAVES, _REGISTERS // max(1, -(-vgprs // 8) * 8)))


def _candidate(source: bytes, kernel: KernelSyntax, facts: LaunchFacts, text: str, spills: bool) -> Candidate:
    attribute = f"__launch_bounds__({text})"
    return edited(
        source,
        [bounds_splice(kernel, text)],
        title=f"{'Add' if _bounds_of(kernel) is None else 'Change to'} `{attribute}`",
        expected=(
            (
                "The compiler may use more registers for each thread: fewer values are spilled to memory."
                if spills
                else "The compiler uses fewer registers for each thread, so that more waves fit on a SIMD."
            )
            + " Results stay the same bit for bit."
        ),
        assumes=(assumed(kernel, facts, text),),
    )


def _definition(kernel: KernelSyntax) -> Node:
    return kernel.body_node.parent if kernel.body_node.parent is not None else kernel.body_node


def _bounds_of(kernel: KernelSyntax) -> Node | None:
    """The kernel's `__launch_bounds__(...)`, or None."""
    return next((c for c in _definition(kernel).children if c.type == "launch_bounds"), None)


def _value(bounds: Node) -> int | None:
    try:
        return int(evaluate(bounds.named_children[0], Wave({}, 1))[0]) if bounds.named_children else None
    except NotStatic:
        return None
