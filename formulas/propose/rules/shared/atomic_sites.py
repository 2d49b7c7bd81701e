"""The additions by atomics that a recipe can gather: the half that block_reduce and lds_histogram share.

Takes a kernel and a test of one atomic, gives the sites, or the first precondition that does not hold for the kernel as
a whole: no other access to the memory, no fence publishes it, and early returns can become guards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import relies_on_others
from hipscope.analysis.source.array_accesses import pointer_of
from hipscope.analysis.source.nodes import ancestors, bare, child_of, text_of, walk
from hipscope.analysis.source.number_types import Element, element_bytes, element_of
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, elements_of
from hipscope.formulas.propose.rules.shared.edit_helpers import EarlyReturn, early_returns, used_otherwise


@dataclass(frozen=True)
class AtomicSite:
    """One `atomicAdd(address, value);`: `place` is what a recipe keeps of the address, `base` the argument.

    `element` is the type as it is written, `kinds` are the number types that it stands for in the kernel's instances.
    """

    atomic: Atomic
    statement: Node
    place: Node
    value: Node
    base: str
    element: str
    kinds: frozenset[Element]

    @property
    def floating(self) -> bool:
        """Whether some instance adds floats: their sum depends on the order."""
        return any(kind.kind == "float" for kind in self.kinds)

    @property
    def number(self) -> int | None:
        """Which element it is, where that is a number in the text."""
        return constant_element(self.atomic.arguments[0])


@dataclass(frozen=True)
class Sites:
    """All sites of a kernel, and the early returns that become guards."""

    sites: tuple[AtomicSite, ...]
    returns: tuple[EarlyReturn, ...]


# A site, a reason, or None for what is none of its business.
SiteOf = Callable[[Atomic, KernelSyntax, LaunchFacts], AtomicSite | str | None]


def collect_sites(kernel: KernelSyntax, facts: LaunchFacts, site_of: SiteOf) -> Sites | str:
    """The sites that `site_of` gives, if they may be moved to the end of the kernel."""
    sites = movable_sites(kernel, facts, site_of)
    if isinstance(sites, str):
        return sites
    returns = early_returns(kernel)
    if isinstance(returns, str):
        return returns
    if returns and kernel.barriers:
        return "the kernel has an early return and a barrier; the barrier would end up under the guard"
    return Sites(sites, tuple(returns))


def movable_sites(kernel: KernelSyntax, facts: LaunchFacts, site_of: SiteOf) -> tuple[AtomicSite, ...] | str:
    """The sites that `site_of` gives, if nobody sees when they change the memory."""
    found = [site_of(atomic, kernel, facts) for atomic in kernel.atomics]
    sites = tuple(s for s in found if isinstance(s, AtomicSite))
    gathered = [s.atomic for s in sites]
    if not sites:
        reasons = [s for s in found if isinstance(s, str)]
        return "; ".join(reasons) if reasons else "the kernel has no atomicAdd to global memory"
    if word := relies_on_others(kernel):
        return f"the kernel uses {word}: other workgroups may rely on when each addition becomes visible"
    addresses = [s.atomic.arguments[0] for s in sites]
    addresses += [a.arguments[0] for a in kernel.atomics if a not in gathered and _is_apart(a, sites, facts)]
    bases = tuple(dict.fromkeys(s.base for s in sites))
    for base in bases:
        if (node := used_otherwise(base, addresses, kernel)) is not None:
            return f"`{base}` is also used on line {node.start_point.row + 1}"
    for site in sites:
        if (place := _place_by(bases, site.atomic.arguments[0])) is not None:
            return f"`{text_of(place)}` on line {site.atomic.span.line} says where another addition goes"
        if any(a.type == "lambda_expression" for a in ancestors(site.statement, kernel.body_node)):
            return f"the atomicAdd on line {site.atomic.span.line} stands in a lambda"
    return sites


def plain_addition(atomic: Atomic) -> str | None:
    """Why this atomic is no addition with an unused result, or None."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if atomic.function not in ("atomicAdd", "unsafeAtomicAdd") or len(atomic.arguments) != 2:
        return f"{where} is not an addition"
    if atomic.statement is None:
        return f"the result of {where} is used"
    return None


def number_kinds(base: str, written: str, facts: LaunchFacts) -> frozenset[Element]:
    """The number types that a pointer leads to in the instances of a kernel; none where one of them is no number."""
    types = elements_of(base, written, facts)
    kinds = frozenset(element_of(name) for name in types)
    return kinds if all(element_bytes(name) == element_of(name).size for name in types) else frozenset()


def constant_element(address: Node) -> int | None:
    """3 of `&p[3]` and of `p + 3`, 0 of `p`; None where the element is not a number in the text."""
    found = pointer_of(address)
    if found is None:
        return None
    index = found[1].strip("()") or "0"
    return int(index) if index.isdigit() else None


def _place_by(bases: Sequence[str], address: Node) -> Node | None:
    """Where the offset in an address is read from one of these arrays; None where it is not."""
    address = bare(address)
    inner = child_of(address, "argument") if address.type == "pointer_expression" else address
    offset = child_of(inner, "indices" if inner.type == "subscript_expression" else "right")
    return (
        next((n for n in walk(offset) if n.id != inner.id and text_of(n) in bases), None)
        if offset != inner
        else None
    )


def _is_apart(atomic: Atomic, sites: Sequence[AtomicSite], facts: LaunchFacts) -> bool:
    """Whether an atomic that is left as it is changes another element than all that are gathered."""
    if atomic.statement is None or not atomic.arguments:
        return False
    address, width = atomic.arguments[0], 0
    if address.type == "cast_expression":
        size = facts.bytes_of(text_of(child_of(address, "type")).rstrip("* "))
        address = child_of(address, "value")
        if size is None:
            return False
        width = size
    found, number = pointer_of(address), constant_element(address)
    own = [s for s in sites if found is not None and s.base == found[0]]
    return number is not None and all(
        s.number not in (None, number) and all(width <= kind.size for kind in s.kinds) for s in own
    )
