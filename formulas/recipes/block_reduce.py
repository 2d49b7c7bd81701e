"""atomicContention: many threads add to one address. Add up inside the workgroup, then issue one atomic.

The compiler already reduces a wave to one atomic, so this goes a level up: wave shuffles, one LDS slot per wave, one
atomic per workgroup, none when there is nothing to add. Needs the result of the atomic to be unused, an address that
is the same for the whole workgroup, and nothing else in the kernel that looks at that memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.formulas.candidate import Candidate, LaunchFacts, Refusal, Splice, apply_splices
from hipscope.formulas.recipes.atomic_sites import Site, collect_sites, plain_addition
from hipscope.formulas.recipes.code import (
    MAX_THREADS,
    MIN_WAVE,
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    Style,
    at_end,
    at_start,
    changed_names,
    closing_braces,
    declared_type,
    guard_splices,
    indent_splices,
    is_pure,
    style_of,
)
from hipscope.formulas.syntax import (
    Atomic,
    KernelSyntax,
    names_in,
    text_of,
    thread_dependent,
    walk,
)

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "block_reduce"

_ZERO = {
    "float": "0.0f", "double": "0.0", "int": "0", "unsigned": "0u", "unsigned int": "0u", "uint32_t": "0u",
    "int32_t": "0", "unsigned long long": "0ull", "unsigned long long int": "0ull", "unsigned long": "0ul",
}  # fmt: skip
_WAVES = MAX_THREADS // MIN_WAVE


def propose(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> list[Candidate] | Refusal:
    """One candidate that reduces every suitable `atomicAdd` of the kernel."""
    del finding
    collected = collect_sites(NAME, kernel, facts, _site)
    if isinstance(collected, Refusal):
        return collected
    sites, returns = list(collected.sites), list(collected.returns)
    style = style_of(source, kernel)
    element_groups = _accumulators(sites, style)
    splices = [_declarations(source, kernel, element_groups, style)]
    for site in sites:
        name = element_groups[_key(site)][1]
        splices.append(
            Splice(
                site.statement.start_byte,
                site.statement.end_byte,
                f"{name} += {_converted(site, kernel)};".encode(),
            )
        )
    splices += guard_splices(kernel, returns)
    splices += indent_splices(source, kernel, returns, style, splices)
    ending = closing_braces(returns, style) + _reduction(element_groups, style)
    splices.append(at_end(source, kernel, style, ending))
    floating = any(s.element in ("float", "double") for s in sites)
    return [
        Candidate(
            recipe=NAME,
            title="Add up within the workgroup before the atomic",
            text=apply_splices(source, splices),
            expected="One atomic per workgroup instead of one per wave: fewer atomics queue at the same address."
            + (" Floating-point sums are added in another order." if floating else ""),
            exact=not floating,
        )
    ]


def _site(atomic: Atomic, kernel: KernelSyntax, pointers: Mapping[str, str]) -> Site | str | None:
    """What to rewrite at this atomic, why it cannot be, or None when it is none of our business (LDS)."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if not atomic.arguments:
        return None
    address = atomic.arguments[0]
    base = _base(address)
    if base is not None and any(a.name == base for a in kernel.shared):
        return None
    reason = plain_addition(atomic)
    if reason is not None or atomic.statement is None:
        return reason
    element = pointers.get(base) if base is not None else None
    if base is None or element is None:
        return f"{where} does not add to an element of a kernel argument"
    if thread_dependent(address, kernel.thread_dependent) or not is_pure(address, kernel):
        return f"{where} goes to a different address in each thread"
    if element not in _ZERO:
        return f"{where} adds to `{element}`, which cannot be shuffled between lanes"
    if not _known_at_end(address, kernel):
        return f"the address of {where} depends on local variables"
    return Site(atomic, atomic.statement, address, atomic.arguments[1], base, element)


def _base(address: Node) -> str | None:
    """`p` of `p`, `&p[i]`, `p + i`; `g.p` of `&g.p[i]`."""
    node = address
    while True:
        if node.type in ("identifier", "field_expression"):
            return text_of(node)
        following = node.child_by_field_name("argument") or node.child_by_field_name("left")
        if following is None and node.type == "parenthesized_expression":
            following = node.named_children[0]
        if following is None:
            return None
        node = following


def _known_at_end(address: Node, kernel: KernelSyntax) -> bool:
    """True when the address only names parameters that are never changed, built-ins and file constants."""
    local = {
        text_of(name)
        for node in walk(kernel.body_node)
        if node.type in ("declaration", "init_declarator")
        for name in node.children_by_field_name("declarator")
        if name.type == "identifier"
    }
    return not (names_in(address) & (local | changed_names(kernel)))


def _key(site: Site) -> str:
    return f"{text_of(site.place)}|{site.atomic.function}"


def _accumulators(sites: list[Site], style: Style) -> dict[str, tuple[Site, str, str]]:
    """For each distinct address: a site, the name of its per-thread sum, the name of its LDS slots."""
    groups: dict[str, tuple[Site, str, str]] = {}
    for site in sites:
        if _key(site) not in groups:
            number = f"_{len(groups) + 1}" if groups else ""
            groups[_key(site)] = (site, style.fresh(f"block_sum{number}"), style.fresh(f"wave_sums{number}"))
    return groups


def _declarations(
    source: bytes, kernel: KernelSyntax, groups: dict[str, tuple[Site, str, str]], style: Style
) -> Splice:
    texts = [f"{site.element} {name} = {_ZERO[site.element]};" for site, name, _ in groups.values()]
    return at_start(source, kernel, style, style.lines(texts))


def _converted(site: Site, kernel: KernelSyntax) -> str:
    """The added value, converted as the call of atomicAdd would have converted it."""
    text = text_of(site.value)
    inside = [n for n in walk(site.value) if n.type == "subscript_argument_list"]
    indices = {n.id for listed in inside for n in walk(listed)}
    for node in (n for n in walk(site.value) if n.id not in indices):
        if node.type == "identifier" and declared_type(text_of(node), kernel) != site.element:
            break
        if node.type == "number_literal" and not _literal_fits(text_of(node), site.element):
            break
        if node.type in ("call_expression", "field_expression", "conditional_expression", "cast_expression"):
            break
    else:
        return text
    return f"static_cast<{site.element}>({text})"


def _literal_fits(literal: str, element: str) -> bool:
    if element == "float":
        return literal.lower().endswith("f") and not literal.lower().startswith("0x")
    if element == "double":
        return "." in literal and not literal.lower().endswith("f")
    return literal.rstrip("uU").isdigit() and int(literal.rstrip("uU")) < 2**31


def _reduction(groups: dict[str, tuple[Site, str, str]], style: Style) -> str:
    thread, threads = style.fresh("thread_in_block"), style.fresh("threads_of_block")
    offset, other, wave = style.fresh("offset"), style.fresh("other"), style.fresh("wave")
    texts = [
        "",
        "// Add up within each wave, then over the waves of the workgroup: one atomic is left.",
        f"const unsigned {thread} = {THREAD_IN_BLOCK};",
        f"const unsigned {threads} = {THREADS_OF_BLOCK};",
        f"for (unsigned {offset} = warpSize / 2; {offset} > 0; {offset} /= 2) {{",
    ]
    for number, (site, name, _) in enumerate(groups.values(), 1):
        received = other if len(groups) == 1 else style.fresh(f"other_{number}")
        texts.append(f"\tconst {site.element} {received} = __shfl_down({name}, {offset});")
        texts.append(f"\tif ({thread} + {offset} < {threads}) {name} += {received};")
    texts.append("}")
    texts += [f"__shared__ {s.element} {slots}[{_WAVES}];" for s, _, slots in groups.values()]
    texts.append(f"if ({thread} % warpSize == 0) {{")
    texts += [f"\t{slots}[{thread} / warpSize] = {name};" for _, name, slots in groups.values()]
    texts += ["}", "__syncthreads();", f"if ({thread} == 0) {{"]
    texts.append(f"\tfor (unsigned {wave} = 1; {wave} * warpSize < {threads}; ++{wave}) {{")
    texts += [f"\t\t{name} += {slots}[{wave}];" for _, name, slots in groups.values()]
    texts.append("\t}")
    for site, name, _ in groups.values():
        call = f"{site.atomic.function}({text_of(site.place)}, {name});"
        texts.append(f"\tif ({name} != 0) {call}")
    texts.append("}")
    return "".join(style.lines([t]) if t else style.newline for t in texts)
