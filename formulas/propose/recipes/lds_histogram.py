"""atomicContention: a histogram. Count in LDS first, add the counts of a workgroup to global memory once.

Needs an `atomicAdd` to a data-dependent element of a kernel argument whose result is unused. Elements beyond the LDS
copy keep going to global memory, so no number of bins has to be proved, only guessed well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import names_in, text_of
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.analysis.source.thread_dependence import thread_dependent
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Candidate, Refusal
from hipscope.formulas.propose.recipes.shared.atomic_sites import (
    AtomicSite,
    collect_sites,
    number_kinds,
    plain_addition,
)
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    EarlyReturn,
    Style,
    at_end,
    at_start,
    closing_braces,
    declared_type,
    guard_splices,
    indent_splices,
    indentation,
    is_pure,
    style_of,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "lds_histogram"

_KINDS = frozenset({"fp32", "fp64", "int32", "uint32", "uint64"})
_MAX_LDS = 16 * 1024
_GUESSES = (256, 1024)


def propose(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> list[Candidate] | Refusal:
    """One candidate for each plausible number of bins (one when a captured launch has the buffer's size)."""
    del finding
    collected = collect_sites(NAME, kernel, facts, _site)
    if isinstance(collected, Refusal):
        return collected
    sites, returns = list(collected.sites), list(collected.returns)
    if len({s.base for s in sites}) != 1:
        return Refusal(NAME, "the kernel adds to several arrays")
    base = sites[0].base

    size = max(kind.size for kind in sites[0].kinds)
    dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
    candidates = []
    for bins in _bin_counts(base, size, facts):
        if facts.static_lds + dynamic + bins * size > facts.lds_limit:
            continue
        candidates.append(_candidate(source, kernel, sites, returns, bins))
    return candidates or Refusal(NAME, "the LDS of the workgroup has no room for a copy of the bins")


def _site(atomic: Atomic, kernel: KernelSyntax, facts: LaunchFacts) -> AtomicSite | str:
    where = f"the {atomic.function} on line {atomic.span.line}"
    reason = plain_addition(atomic)
    if reason is not None or atomic.statement is None:
        return reason or ""
    address = atomic.arguments[0]
    base, index = _element(address)
    element = pointers_of(kernel, facts).get(base) if base is not None else None
    if base is None or index is None or element is None:
        return f"{where} does not add to an indexed element of a kernel argument"
    kinds = number_kinds(base, element, facts)
    if not kinds or not all(kind.name in _KINDS for kind in kinds):
        return f"{where} adds to `{element}`, for which there is no LDS atomic"
    if not thread_dependent(index, kernel.thread_dependent):
        return f"{where} goes to the same address in all threads of a workgroup"
    if not is_pure(index, kernel):
        return f"the index of {where} is not a plain expression"
    return AtomicSite(atomic, atomic.statement, index, atomic.arguments[1], base, element, kinds)


def _element(address: Node) -> tuple[str | None, Node | None]:
    """(`p`, `i`) of `&p[i]` and `p + i`."""
    if address.type == "pointer_expression" and text_of(address).startswith("&"):
        inner = address.child_by_field_name("argument")
        if inner is not None and inner.type == "subscript_expression":
            base, indices = inner.child_by_field_name("argument"), inner.child_by_field_name("indices")
            listed = indices.named_children if indices is not None else []
            if base is not None and base.type in ("identifier", "field_expression") and len(listed) == 1:
                return text_of(base), listed[0]
    if (
        address.type == "binary_expression"
        and text_of(address.child_by_field_name("operator") or address) == "+"
    ):
        left, right = address.child_by_field_name("left"), address.child_by_field_name("right")
        if left is not None and left.type in ("identifier", "field_expression"):
            return text_of(left), right
    return None, None


def _bin_counts(base: str, size: int, facts: LaunchFacts) -> tuple[int, ...]:
    sizes = [launch.buffer_bytes[base] // size for launch in facts.launches if base in launch.buffer_bytes]
    if sizes:
        return (max(1, min(max(sizes), _MAX_LDS // size)),)
    return tuple(g for g in _GUESSES if g * size <= _MAX_LDS)


def _candidate(
    source: bytes, kernel: KernelSyntax, sites: list[AtomicSite], returns: list[EarlyReturn], bins: int
) -> Candidate:
    style = style_of(source, kernel)
    element, base = sites[0].element, sites[0].base
    known = _constant_named(source, kernel, bins)
    extent = known or style.fresh("bins_in_lds")
    local = style.fresh(f"block_{base.replace('.', '_')}")
    thread, threads, bin_ = style.fresh("thread_in_block"), style.fresh("threads_of_block"), style.fresh("b")
    loop = f"for (unsigned {bin_} = {thread}; {bin_} < {extent}; {bin_} += {threads})"
    opening = [
        *([] if known else [f"constexpr unsigned {extent} = {bins};"]),
        f"__shared__ {element} {local}[{extent}];",
        f"const unsigned {thread} = {THREAD_IN_BLOCK};",
        f"const unsigned {threads} = {THREADS_OF_BLOCK};",
        f"{loop} {local}[{bin_}] = 0;",
        "__syncthreads();",
    ]
    closing = [
        "",
        "// Add what this workgroup counted.",
        "__syncthreads();",
        f"{loop} {{",
        f"\tif ({local}[{bin_}] != 0) {sites[0].atomic.function}(&{base}[{bin_}], {local}[{bin_}]);",
        "}",
    ]
    splices = [at_start(source, kernel, style, style.lines(opening) + style.newline)]
    for site in sites:
        within = sum(r.statement.end_byte <= site.statement.start_byte for r in returns)
        splices.append(_site_splice(source, site, kernel, style, local, extent, within))
    splices += guard_splices(kernel, returns)
    splices += indent_splices(source, kernel, returns, style, splices)
    flush = "".join(style.lines([t]) if t else style.newline for t in closing)
    splices.append(at_end(source, kernel, style, closing_braces(returns, style) + flush))
    return Candidate(
        recipe=NAME,
        title=f"Count in LDS first ({bins} bins), then add to `{base}` once per workgroup",
        text=apply_splices(source, splices),
        expected="The additions of a workgroup meet in its own LDS; global memory sees at most one atomic per bin and "
        "workgroup.",
        exact=not sites[0].floating,
    )


def _site_splice(
    source: bytes, site: AtomicSite, kernel: KernelSyntax, style: Style, local: str, extent: str, within: int
) -> Splice:
    """The atomic as an LDS atomic where the bin has an LDS copy, else as it was; `within` new `if`s around it."""
    outer = indentation(source, site.statement.start_byte) + style.step * within
    depth = outer
    index, lines = text_of(site.place), []
    named = site.place.type == "identifier"
    alone = site.statement.parent is not None and site.statement.parent.type == "compound_statement"
    if not named or not alone:
        lines.append("{")
        depth += style.step
    if not named:
        index = style.fresh("bin")
        lines.append(f"{depth}const auto {index} = {text_of(site.place)};")
    value, function = text_of(site.value), site.atomic.function
    narrow = named and declared_type(index, kernel) in ("int", "unsigned", "unsigned int")
    unsigned = "unsigned" if narrow else "unsigned long long"
    lines += [
        f"{depth}if (static_cast<{unsigned}>({index}) < {extent}) {{",
        f"{depth}{style.step}{function}(&{local}[{index}], {value});",
        f"{depth}}} else {{",
        f"{depth}{style.step}{text_of(site.statement)}" if named else
        f"{depth}{style.step}{function}(&{site.base}[{index}], {value});",
        f"{depth}}}",
    ]  # fmt: skip
    if depth != outer:
        lines.append(f"{outer}}}")
    text = style.newline.join(lines)
    return Splice(site.statement.start_byte, site.statement.end_byte, text.removeprefix(outer).encode())


def _constant_named(source: bytes, kernel: KernelSyntax, bins: int) -> str | None:
    """A file constant that the kernel uses and that has this value: the name says more than the number."""
    constants = parse(source).constants
    for name in sorted(names_in(kernel.body_node) & set(constants)):
        try:
            if int(evaluate(constants[name], Wave({}, 1))[0]) == bins:
                return name
        except NotStatic:
            continue
    return None
