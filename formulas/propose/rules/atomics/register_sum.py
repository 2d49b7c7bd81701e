"""atomicContention: a thread adds to the same address in every step of a loop. Add in a register, then once.

Like `block_reduce` for atomics whose address differs between threads, and for LDS: what counts is that it stays the
same in the loop. Others see the sum come later than its summands might have: needs a loop in which the threads do not
wait for each other, the result unused, and nothing else in the loop that looks at that memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.array_accesses import pointer_of
from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.atomic_sites import AtomicSite
from hipscope.formulas.propose.rules.shared.edit_helpers import numbered_name, style_of
from hipscope.formulas.propose.rules.shared.loop_elements import (
    Around,
    around,
    assumption,
    indices_of,
    is_steady,
    loops_around,
    names_of,
    seen_before_the_end,
)
from hipscope.formulas.propose.rules.shared.workgroup_reduction import (
    atomic_on,
    change_of,
    depends_on_order,
    key_of,
    neutral,
    once,
    operator_of,
)
from hipscope.formulas.propose.splice import Splice


@dataclass(frozen=True)
class _LoopSum:
    """The atomics of a loop on one address."""

    loop: Node
    sites: tuple[AtomicSite, ...]


@rewrite("register_sum", "Atomics", "atomicContention", rank=44)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Adds up in a register what a loop adds to one address.

    Needs: an address that stays the same in the loop, of an argument or in LDS; as `block_reduce` otherwise; no
    barrier, fence or way out of the kernel in the loop, no other access to that memory there; no overlap.
    Assumes: assumed for all launches.
    Results: integers: same bits; floats in another order.
    For: HeCBench atomicCost.
    """
    found: dict[tuple[int, str], list[AtomicSite]] = {}
    loops: dict[int, Node] = {}
    reasons: dict[str, None] = {}
    for atomic in kernel.atomics:
        site = _site(atomic, kernel, facts)
        loop = _loop_of(site, kernel) if isinstance(site, AtomicSite) else site
        if isinstance(site, AtomicSite) and isinstance(loop, Node):
            loops[loop.id] = loop
            found.setdefault((loop.id, key_of(site)), []).append(site)
        else:
            reasons[str(loop)] = None
    sums: list[_LoopSum] = []
    for (loop_id, _), sites in found.items():
        one = _LoopSum(loops[loop_id], tuple(sites))
        if (why := _seen(one, kernel, facts)) is None:
            sums.append(one)
        else:
            reasons[f"`{sites[0].base}`: {why}"] = None
    if not sums:
        return "; ".join(reasons) or "the kernel has no atomic in a loop"
    style = style_of(source, kernel)
    names: list[str] = []
    splices: list[Splice] = []
    places: dict[int, Around] = {}
    for one in sums:
        what = "sum" if operator_of(one.sites[0]) == "+" else "value"
        names.append(numbered_name(f"loop_{what}", style, names))
        splices += _splices(one, names[-1], kernel, places.setdefault(one.loop.id, Around(one.loop)))
    splices += [splice for lines in places.values() for splice in around(source, lines, style)]
    floating = any(depends_on_order(site) for one in sums for site in one.sites)
    shared = {array.name for array in kernel.shared}
    bases = [one.sites[0].base for one in sums if one.sites[0].base not in shared]
    return edited(
        source,
        splices,
        title="Add up in a register, and do one atomic behind the loop",
        expected=(
            "One atomic of each thread for the loop instead of one in each step."
            + (" Floating-point sums are added in another order." if floating else "")
        ),
        exact=not floating,
        assumes=assumption(bases, kernel, facts),
    )


def _site(atomic: Atomic, kernel: KernelSyntax, facts: LaunchFacts) -> AtomicSite | str:
    """An atomic in a loop, on an argument or LDS, or why it is left."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if not atomic.arguments or not loops_around(atomic.node, kernel):
        return f"{where} stands in no loop"
    place = pointer_of(atomic.arguments[0])
    types = {**{a.name: a.element_type for a in kernel.shared}, **pointers_of(kernel, facts)}
    if place is None or place[0] not in types:
        return f"{where} is not on an element of an argument or of LDS"
    return atomic_on(atomic, place[0], types[place[0]], facts)


def _loop_of(site: AtomicSite, kernel: KernelSyntax) -> Node | str:
    """The outermost loop in which the address stays the same."""
    where = f"the {site.atomic.function} on line {site.atomic.span.line}"
    indices = list(indices_of(site.place))
    if not is_steady(indices, kernel):
        return f"the address of {where} is loaded, or has effects"
    names = names_of(indices, kernel)
    loops = loops_around(site.statement, kernel)
    steady = (loop for loop in loops if not names & changed_names(loop))
    return next(steady, None) or f"{where} goes to another address in each step"


def _seen(one: _LoopSum, kernel: KernelSyntax, facts: LaunchFacts) -> str | None:
    """Why others would see that the sum comes later."""
    places = [site.atomic.arguments[0] for site in one.sites]
    return seen_before_the_end((one.loop,), one.sites[0].base, places, kernel, facts)


def _splices(one: _LoopSum, name: str, kernel: KernelSyntax, lines: Around) -> Iterator[Splice]:
    """The atomics as changes of a variable; what stands around the loop goes into `lines`."""
    first = one.sites[0]
    lines.before.append(f"{first.element} {name} = {neutral(first)};")
    lines.after.append(once(first, name, text_of(first.place)))
    for site in one.sites:
        start, end = site.statement.start_byte, site.statement.end_byte
        yield Splice(start, end, change_of(site, name, kernel).encode())
