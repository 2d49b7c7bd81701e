"""branchDivergence, any hot kernel: one thread adds up what the workgroup has left in LDS. The first wave does it.

Each lane adds up every 64th element, then the lanes add up their sums by shuffles: 128 steps become two and six. Needs
a loop of nothing but sums over one-dimensional LDS arrays, under `if (threadIdx.x == 0)` right behind a barrier, and
no lane that has left the kernel alone before. Sums of floats are added in another order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, names_in, text_of
from hipscope.analysis.source.syntax import KernelSyntax, SharedArray
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.lds.one_thread import (
    COUNTERS,
    FLOATS,
    LoneLoop,
    before_guard,
    counted_from_number,
    disturbs,
    in_place_of,
    loops_of_one_thread,
    same_for_all,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    Style,
    declared_type,
    numbered_name,
    style_of,
)
from hipscope.formulas.propose.splice import Splice


@dataclass(frozen=True)
class _Sum:
    """`target += array[counter]`: the text of the target, its type and the array."""

    target: str
    kind: str
    array: SharedArray


@dataclass(frozen=True)
class _Loop:
    """A loop of sums over `counter`, from the number `start` on."""

    of: LoneLoop
    counter: str
    counter_type: str
    start: str
    condition: str
    sums: tuple[_Sum, ...]


@rewrite("wave_sum", "LDS and reductions", "branchDivergence", anywhere=True, rank=14)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """The first wave adds up what one thread added up from LDS.

    Needs: one-dimensional LDS arrays of numbers; a barrier right before; no lane of a wave has left the kernel alone;
    where the loop ends is the same for all threads.
    Assumes: workgroups of one dimension, a wave or more.
    Results: integers: same bits; floats in another order.
    For: HeCBench d2q9-bgk and deredundancy.
    """
    loops = loops_of_one_thread(kernel, facts, _loop)
    if isinstance(loops, str):
        return loops
    exact = not any(s.kind in FLOATS for loop in loops for s in loop.sums)
    return edited(
        source,
        _splices(loops, source, style_of(source, kernel)),
        title="Let the first wave add up what one thread adds up alone",
        expected="One thread no longer goes through LDS element by element while all others wait.",
        exact=exact,
        terms=1 if exact else max(launch.workgroup[0] for launch in facts.launches),
        assumes=(f"workgroups of `{kernel.name}` have one dimension, and a wave or more of threads",),
    )


def _loop(loop: LoneLoop, kernel: KernelSyntax) -> _Loop | str:
    """A loop of nothing but sums of LDS elements, or why it is none."""
    where = loop.where
    counted = counted_from_number(loop.node)
    if counted is None:
        return f"{where} does not count from a number in steps of 1"
    head, start, bound = counted
    sums = [_sum(s, head.variable, start, kernel) for s in head.statements if s.type != "comment"]
    if not sums or any(s is None for s in sums):
        return f"{where} does something else than adding up elements of LDS"
    good = tuple(s for s in sums if s is not None)
    if len({s.target for s in good}) != len(good):
        return f"{where} adds twice to the same"
    end = names_in(bound)
    if not same_for_all(bound, kernel):
        return f"where {where} ends may differ between threads"
    read = end | {s.array.name for s in good}
    if end & {s.target for s in good} or any(disturbs(n, read) for n in loop.before):
        return f"what {where} needs is not known before the one thread's statement"
    condition = text_of(child_of(loop.node, "condition"))
    return _Loop(loop, head.variable, head.type, start, condition, good)


def _sum(statement: Node, counter: str, start: str, kernel: KernelSyntax) -> _Sum | None:
    """`sum += array[i];`, or `array[0] += array[i];` from 1 on."""
    match = re.fullmatch(r"(\w+)(\[0\])?\+=(\w+)\[(\w+)\];", re.sub(r"\s", "", text_of(statement)))
    if match is None or match[4] != counter:
        return None
    array = next((a for a in kernel.shared if a.name == match[3]), None)
    if array is None or len(array.dimensions) != 1 or array.dynamic:
        return None
    if match[2]:
        known = match[1] == array.name and start != "0"
        kind: str | None = array.element_type if known else None
    else:
        of_threads = {a.name for a in kernel.shared} | {p.name for p in kernel.parameters}
        kind = declared_type(match[1], kernel) if match[1] not in of_threads else None
    if kind not in COUNTERS | FLOATS or array.element_type not in COUNTERS | FLOATS:
        return None
    if kind in COUNTERS and array.element_type in FLOATS:  # each step cuts the digits behind the point
        return None
    return _Sum(match[1] + (match[2] or ""), kind, array)


def _splices(loops: list[_Loop], source: bytes, style: Style) -> Iterator[Splice]:
    """Each loop's sums by the wave before the one thread's statement, and one addition in place of each."""
    given: list[str] = []
    for loop in loops:
        names = []
        for _ in loop.sums:
            names.append(numbered_name("wave_sum", style, given))
            given.append(names[-1])
        yield before_guard(loop.of, _wave_lines(loop, names, loop.of.thread, style), source, style)
        added = [f"{s.target} += {name};" for s, name in zip(loop.sums, names, strict=True)]
        yield in_place_of(loop.of.node, added, source, style)


def _wave_lines(loop: _Loop, names: list[str], thread: str, style: Style) -> list[str]:
    """The lines that leave a loop's sums in the first lane."""
    one, counter, offset = style.step, loop.counter, style.fresh("offset")
    pairs = list(zip(loop.sums, names, strict=True))
    first = thread if loop.start == "0" else f"{loop.start} + {thread}"
    return [
        "// The first wave adds up what one thread would add up alone.",
        *(f"{s.kind} {name} = 0;" for s, name in pairs),
        f"if ({thread} < warpSize) {{",
        f"{one}for ({loop.counter_type} {counter} = {first}; {loop.condition}; {counter} += warpSize) {{",
        *(f"{one * 2}{name} += {s.array.name}[{counter}];" for s, name in pairs),
        f"{one}}}",
        f"{one}for (int {offset} = warpSize / 2; {offset} > 0; {offset} /= 2) {{",
        *(f"{one * 2}{name} += __shfl_down({name}, {offset});" for _, name in pairs),
        f"{one}}}",
        "}",
    ]
