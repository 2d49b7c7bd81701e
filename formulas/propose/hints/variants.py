"""Variants of a kernel that cannot change a result: what the compiler is told about loops, pointers and workgroups.

Takes the kernel's file, its profile and what was recorded of its launches; gives what can be told, and the text for a
choice of it. Which choice is worth anything, only the machine code and its time say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tree_sitter import Node

from hipscope.analysis.metrics.machine_loops import machine_loops
from hipscope.analysis.metrics.stalls import blamed_stalls
from hipscope.analysis.profile import Instruction, Kernel
from hipscope.analysis.source.nodes import LOOPS, is_within, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.called_functions import CalledFunction
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop, stepped_loop
from hipscope.formulas.propose.hints.split_refill import RefillLoop, refill_loop, split_at_refills
from hipscope.formulas.propose.hints.written_steps import assumed, written_out
from hipscope.formulas.propose.loop_directives import settled
from hipscope.formulas.propose.rules.loops import launch_bounds
from hipscope.formulas.propose.rules.memory import restrict
from hipscope.formulas.propose.rules.shared.edit_helpers import style_of
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_splice
from hipscope.formulas.propose.splice import Splice, apply_splices

NAME = "compiler_hints"

_HOT = 0.1  # of the kernel's cycles: a loop with less than that has little to give
_MOST_LOOPS = 4


@dataclass(frozen=True)
class HotLoop:
    """A loop and its share of the kernel's cycles. `inside` the text that variants are of, every form may be proved.

    `unrolled`: the machine code has none like it, but others.
    """

    node: Node
    share: float
    inside: bool
    counted: SteppedLoop | None = None
    refill: RefillLoop | None = None
    unrolled: bool = False

    @property
    def line(self) -> int:
        """Where it begins, from 1."""
        return self.node.start_point.row + 1


@dataclass(frozen=True)
class LoopHint:
    """How one loop is compiled: `factor` copies of its body, one after the other, written out, in step, or in vectors.

    Between refills, the loop is split where a buffer is used up, and the steps up to there are written out
    (`split_refill`).

    Written out, what the copies load is loaded before any of them stores (`written_steps`). In step, the compiler does
    that; in vectors, a lane moves several elements at once, and sums are added in another order. The compiler does both
    where it can show that the steps are independent, or can ask for it at run time.
    """

    factor: int
    form: Literal["copies", "written", "refill", "step", "vectors"] = "copies"

    @property
    def pragma(self) -> str:
        """What stands behind `#pragma`."""
        if self.form == "copies":
            return f"unroll {self.factor}"
        width, count = (self.factor, 1) if self.form == "vectors" else (1, self.factor)
        return f"clang loop vectorize_width({width}) interleave_count({count})"

    def title(self, place: str) -> str:
        """The hint in words; `place` is where the loop is."""
        if self.form != "copies":
            how = {
                "written": "at once",
                "refill": "at once between two refills",
                "step": "together",
                "vectors": "in vectors",
            }[self.form]
            return f"do {self.factor} steps of the loop on {place} {how}"
        return f"unroll the loop on {place} {'not at all' if self.factor == 1 else f'by {self.factor}'}"


@dataclass(frozen=True)
class Hints:
    """What the compiler is told: of loops by their number, `__restrict__`, the text of the launch bounds."""

    loops: tuple[tuple[int, LoopHint], ...] = ()
    restrict: bool = False
    bounds: str | None = None


@dataclass(frozen=True)
class Variants:
    """What the compiler can be told of one text that a kernel runs. `loops` are the hottest first.

    The text is the kernel's, that of a `function` which it calls, or none: then only copies of loops are made, of all
    functions of a `file`. `file` is None where that is the kernel's own.
    """

    source: bytes
    kernel: KernelSyntax
    facts: LaunchFacts
    loops: tuple[HotLoop, ...]
    can_restrict: bool = False
    bounds: tuple[str, ...] = ()
    file: Path | None = None
    function: KernelSyntax | None = None

    @property
    def hottest(self) -> float:
        """The largest share of the kernel's cycles that one of the loops has."""
        return self.loops[0].share if self.loops else 0.0

    @property
    def leading(self) -> tuple[int, ...]:
        """The loops that are told something alone: the hottest, and one inside it that the compiler has unrolled."""
        if not self.loops:
            return ()
        first = self.loops[0].node
        gone = [n for n, loop in enumerate(self.loops) if n and loop.unrolled and is_within(loop.node, first)]
        return (0, *gone[:1])

    def split(self, number: int, hint: LoopHint) -> tuple[Splice, tuple[str, ...]] | None:
        """The loop split at its refills, and what that relies on; None for other forms, and where it cannot be."""
        refill = self.loops[number].refill
        if hint.form != "refill" or refill is None:
            return None
        return split_at_refills(self.source, self.kernel, self.facts, refill, hint.factor)

    def candidate(self, hints: Hints) -> Candidate:
        """The text with these hints."""
        style = style_of(self.source, self.kernel)
        splices: list[Splice] = []
        told: list[str] = []
        assumes: list[str] = []
        for number, hint in hints.loops:
            loop = self.loops[number]
            if hint.form == "written" and loop.counted is not None:
                splices.append(written_out(self.source, self.kernel, loop.counted, hint.factor))
                relied = None if hints.restrict else assumed(self.kernel, loop.counted)
                assumes += [relied] if relied is not None else []
            elif (split := self.split(number, hint)) is not None:
                splices.append(split[0])
                assumes += split[1]
            else:
                splices.append(pragma_splice(self.source, loop.node, hint.pragma, style.newline, style.step))
            told.append(hint.title(f"line {loop.line}" + (f" of {self.file.name}" if self.file else "")))
        if hints.restrict:
            splices += restrict.promises(self.source, self.kernel, self.facts)
            told.append("promise that the pointers do not overlap (`__restrict__`)")
            assumes.append(restrict.assumed(self.kernel, self.facts))
        if hints.bounds is not None:
            splices.append(launch_bounds.bounds_splice(self.kernel, hints.bounds))
            told.append(f"say `__launch_bounds__({hints.bounds})`")
            assumes.append(launch_bounds.assumed(self.kernel, self.facts, hints.bounds))
        title = ", and ".join(told)
        lanes = max((hint.factor for _, hint in hints.loops if hint.form == "vectors"), default=1)
        return Candidate(
            recipe=NAME,
            title=title[:1].upper() + title[1:],
            text=settled(self.source, apply_splices(self.source, splices)),
            expected="The compiler is told more and computes the same; results stay the same"
            + (" bit for bit." if lanes == 1 else ", but sums of floats are added in another order."),
            exact=lanes == 1,
            terms=lanes,
            assumes=tuple(assumes),
            file=self.file,
            function=self.function,
        )


def variants_of(
    file: Path, source: bytes, kernel: KernelSyntax, profiled: Sequence[Kernel], facts: LaunchFacts
) -> Variants:
    """What can be told of a kernel of `file`. `profiled` are its instances, with instructions and their cycles."""
    return Variants(
        source,
        kernel,
        facts,
        _hot_loops(file, source, kernel, profiled, facts),
        isinstance(restrict.propose(source, kernel, None, facts), list),
        launch_bounds.sizes(kernel, facts),
    )


def function_variants(
    function: CalledFunction, kernel_file: Path, profiled: Sequence[Kernel]
) -> Variants | None:
    """What can be told of the loops of a function that a kernel of `kernel_file` calls; None without a hot one."""
    own = [n for n in walk(function.syntax.body_node) if _is_loop(n)]
    spent = _spent(own, function.file, profiled)
    syntax, facts, source = function.syntax, function.facts, function.source
    loops = _hottest(_hot(one, syntax, facts, source) for one in spent)
    file = None if function.file == kernel_file else function.file
    return Variants(source, syntax, facts, loops, file=file, function=syntax) if loops else None


def file_variants(
    file: Path, source: bytes, kernel: KernelSyntax, profiled: Sequence[Kernel]
) -> Variants | None:
    """What can be told of the loops of another file than the kernel's; None without a hot one."""
    loops = [n for n in walk(parse(source).root) if _is_loop(n) and _in_helper(n)]
    hot = _hottest(
        HotLoop(one.node, one.share, False, unrolled=one.unrolled) for one in _spent(loops, file, profiled)
    )
    return Variants(source, kernel, LaunchFacts(), hot, file=file) if hot else None


def _hot_loops(
    file: Path, source: bytes, kernel: KernelSyntax, profiled: Sequence[Kernel], facts: LaunchFacts
) -> tuple[HotLoop, ...]:
    """The loops of the kernel and of other functions in the file that its cycles are spent in, hottest first."""
    span = kernel.span
    others = [
        n
        for n in walk(parse(source).root)
        if _is_loop(n) and _in_helper(n) and not span.start <= n.start_byte < span.end
    ]
    loops = [*others, *(n for n in walk(kernel.body_node) if _is_loop(n))]
    return _hottest(_hot(one, kernel, facts, source) for one in _spent(loops, file, profiled))


def _hottest(loops: Iterable[HotLoop]) -> tuple[HotLoop, ...]:
    return tuple(sorted(loops, key=lambda loop: -loop.share)[:_MOST_LOOPS])


@dataclass(frozen=True)
class _Spent:
    """A loop that a good part of the cycles is spent in; `unrolled` as for HotLoop."""

    node: Node
    share: float
    unrolled: bool


def _spent(loops: Sequence[Node], file: Path, profiled: Sequence[Kernel]) -> list[_Spent]:
    """Those of these loops of a file that the kernel's cycles are spent in.

    Cycles count for the innermost loop around them, in the function that is inlined or in its caller. Where the
    compiler has unrolled that one completely, they count for the loop around it as well, of which it made its copies.
    """
    cycles = dict.fromkeys((n.id for n in loops), 0.0)
    around: set[int] = set()
    total = 0.0
    for one in profiled if loops else ():
        nests = [_nest(loops, instruction, file) for instruction in one.instructions]
        compiled = _compiled(one, nests)
        around |= compiled
        for instruction, waits, nest in zip(one.instructions, blamed_stalls(one), nests, strict=True):
            cost = instruction.latency - instruction.stall + sum(waits.values())
            total += cost
            for loop in _paying(nest, compiled):
                cycles[loop] += cost
    hot = [(n, cycles[n.id] / total) for n in loops if total and cycles[n.id] >= _HOT * total]
    return [_Spent(n, share, bool(around) and n.id not in around) for n, share in hot]


def _nest(loops: Sequence[Node], instruction: Instruction, file: Path) -> tuple[int, ...]:
    """The loops around an instruction, innermost first, then those around the call that was inlined."""
    lines = [frame.line for frame in instruction.source if _same(frame.file, file)]
    return tuple(loop.id for line in lines for loop in reversed(_around(loops, line)))


def _compiled(kernel: Kernel, nests: Sequence[tuple[int, ...]]) -> set[int]:
    """The loops that the machine code has, too: each is the innermost one around all that a branch jumps back over."""
    found: set[int] = set()
    for first, last in machine_loops(kernel):
        inside = [nest for nest in nests[first : last + 1] if nest]
        common = (n for n in inside[0] if all(n in nest for nest in inside)) if inside else iter(())
        found |= {n for n in (next(common, None),) if n is not None}
    return found


def _paying(nest: tuple[int, ...], compiled: set[int]) -> tuple[int, ...]:
    """The innermost loop; where the machine code no longer has it, also the next one that it has."""
    if not nest or nest[0] in compiled:
        return nest[:1]
    return (nest[0], *[loop for loop in nest if loop in compiled][:1])


def _is_loop(node: Node) -> bool:
    """A loop, or what a macro and a block in a function may be, as `KERNEL_LOOP(i, n) { ... }`.

    The parser takes the latter for a function in a function. Where it is no loop, no compiler takes a pragma before it.
    """
    if node.type != "function_definition":
        return node.type in LOOPS
    return node.parent is not None and node.parent.type == "compound_statement"


def _hot(spent: _Spent, kernel: KernelSyntax, facts: LaunchFacts, source: bytes) -> HotLoop:
    inside = kernel.span.start <= spent.node.start_byte < kernel.span.end
    counted = stepped_loop(spent.node, kernel, facts, source) if inside else ""
    refill = refill_loop(spent.node, kernel, facts, source) if inside else ""
    return HotLoop(
        spent.node,
        spent.share,
        inside,
        None if isinstance(counted, str) else counted,
        None if isinstance(refill, str) else refill,
        spent.unrolled,
    )


def _around(loops: Sequence[Node], line: int) -> list[Node]:
    """The loops around a line, outermost first: a loop inside another stands behind it."""
    return [n for n in loops if n.start_point.row + 1 <= line <= n.end_point.row + 1]


def _same(name: str, file: Path) -> bool:
    return name == str(file) or (name.endswith(file.name) and Path(name).resolve() == file.resolve())


def _in_helper(node: Node) -> bool:
    """In a function that is no kernel: cycles tell whether it is called."""
    outer = node.parent
    while outer is not None and outer.type != "function_definition":
        outer = outer.parent
    return outer is not None and not any(child.type == "__global__" for child in outer.children)
