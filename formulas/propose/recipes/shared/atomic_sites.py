"""The additions by atomics that a recipe can gather: the half that block_reduce and lds_histogram share.

Takes a kernel and a test of one atomic, gives the sites, or the first precondition that does not hold for the kernel as
a whole: no other access to the memory, no fence publishes it, and early returns can become guards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import ancestors, text_of
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import EarlyReturn, early_returns, used_otherwise

_PUBLISHING = re.compile(r"\b(__threadfence\w*|__atomic_work_item_fence|cooperative_groups|volatile)\b")


@dataclass(frozen=True)
class AtomicSite:
    """One `atomicAdd(address, value);`: `place` is what a recipe keeps of the address, `base` the argument."""

    atomic: Atomic
    statement: Node
    place: Node
    value: Node
    base: str
    element: str


@dataclass(frozen=True)
class Sites:
    """All sites of a kernel, and the early returns that become guards."""

    sites: tuple[AtomicSite, ...]
    returns: tuple[EarlyReturn, ...]


def collect_sites(
    name: str,
    kernel: KernelSyntax,
    facts: LaunchFacts,
    site_of: Callable[[Atomic, KernelSyntax, Mapping[str, str]], AtomicSite | str | None],
) -> Sites | Refusal:
    """The sites that `site_of` gives (a str is a reason, None is none of its business), if they may be moved."""
    pointers = pointers_of(kernel, facts)
    found = [site_of(atomic, kernel, pointers) for atomic in kernel.atomics]
    sites = tuple(s for s in found if isinstance(s, AtomicSite))
    if not sites:
        reasons = [s for s in found if isinstance(s, str)]
        return Refusal(
            name, "; ".join(reasons) if reasons else "the kernel has no atomicAdd to global memory"
        )
    if (word := _PUBLISHING.search(text_of(kernel.body_node))) is not None:
        return Refusal(
            name,
            f"the kernel uses `{word[0]}`: other workgroups may rely on when each addition becomes visible",
        )
    addresses = [s.atomic.arguments[0] for s in sites]
    for base in dict.fromkeys(s.base for s in sites):
        if (node := used_otherwise(base, addresses, kernel)) is not None:
            return Refusal(name, f"`{base}` is also used on line {node.start_point.row + 1}")
    for site in sites:
        if any(a.type == "lambda_expression" for a in ancestors(site.statement, kernel.body_node)):
            return Refusal(name, f"the atomicAdd on line {site.atomic.span.line} stands in a lambda")
    returns = early_returns(kernel)
    if isinstance(returns, str):
        return Refusal(name, returns)
    if returns and kernel.barriers:
        return Refusal(
            name, "the kernel has an early return and a barrier; the barrier would end up under the guard"
        )
    return Sites(sites, tuple(returns))


def plain_addition(atomic: Atomic) -> str | None:
    """Why this atomic is no addition with an unused result, or None."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if atomic.function not in ("atomicAdd", "unsafeAtomicAdd") or len(atomic.arguments) != 2:
        return f"{where} is not an addition"
    if atomic.statement is None:
        return f"the result of {where} is used"
    return None
