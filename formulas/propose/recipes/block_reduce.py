"""atomicContention: many threads add to one address (or take the largest, the smallest, or bits together there). Do it
inside the workgroup, then issue one atomic.

The compiler already reduces a wave to one atomic, so this goes a level up: wave shuffles, one LDS slot per wave, one
atomic per workgroup, none when there is nothing to add. Needs the result of the atomic to be unused, an address that
is the same for the whole workgroup, and nothing else in the kernel that looks at that memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, names_in, text_of, walk
from hipscope.analysis.source.number_types import element_bytes, element_of
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.analysis.source.thread_dependence import thread_dependent
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Candidate, Refusal
from hipscope.formulas.propose.recipes.shared.atomic_sites import AtomicSite, collect_sites, number_kinds
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
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
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "block_reduce"

# What HIP has both atomics and shuffles for.
_ZERO = {"fp32": "0.0f", "fp64": "0.0", "int32": "0", "uint32": "0u", "uint64": "0ull"}
_OPERATORS = {
    "atomicAdd": "+", "unsafeAtomicAdd": "+", "atomicSub": "+", "atomicOr": "|", "atomicAnd": "&", "atomicXor": "^",
    "atomicMax": "max", "atomicMin": "min",
}  # fmt: skip
_WAVES = MAX_THREADS // MIN_WAVE


def propose(
    source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts
) -> list[Candidate] | Refusal:
    """One candidate that reduces every suitable atomic of the kernel."""
    del finding
    collected = collect_sites(NAME, kernel, facts, _site)
    if isinstance(collected, Refusal):
        return collected
    sites, returns = list(collected.sites), list(collected.returns)
    for site in sites:
        if any(_operator(s) != _operator(site) and _may_meet(s, site) for s in sites):
            return Refusal(
                NAME, f"what becomes of `{site.base}` depends on the order of its different atomics"
            )
    style = style_of(source, kernel)
    element_groups = _accumulators(sites, style)
    splices = [_declarations(source, kernel, element_groups, style)]
    for site in sites:
        name = element_groups[_key(site)][1]
        splices.append(
            Splice(
                site.statement.start_byte,
                site.statement.end_byte,
                _combined(site, name, _converted(site, kernel)).encode(),
            )
        )
    splices += guard_splices(kernel, returns)
    splices += indent_splices(source, kernel, returns, style, splices)
    ending = closing_braces(returns, style) + _reduction(element_groups, style)
    splices.append(at_end(source, kernel, style, ending))
    floating = any(s.floating for s in sites)
    return [
        Candidate(
            recipe=NAME,
            title="Add up within the workgroup before the atomic"
            if all(_operator(s) == "+" for s in sites)
            else "Combine within the workgroup before the atomic",
            text=apply_splices(source, splices),
            expected="One atomic per workgroup instead of one per wave: fewer atomics queue at the same address."
            + (" Floating-point sums are added in another order." if floating else ""),
            exact=not floating,
        )
    ]


def _may_meet(one: AtomicSite, other: AtomicSite) -> bool:
    """Whether both may be on the same element."""
    return one.base == other.base and (None in (one.number, other.number) or one.number == other.number)


def _site(atomic: Atomic, kernel: KernelSyntax, facts: LaunchFacts) -> AtomicSite | str | None:
    """What to rewrite at this atomic, why it cannot be, or None when it is none of our business (LDS)."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if not atomic.arguments:
        return None
    address = atomic.arguments[0]
    base = _base(address)
    if base is not None and any(a.name == base for a in kernel.shared):
        return None
    if atomic.function not in _OPERATORS or len(atomic.arguments) != 2:
        return f"{where} cannot be gathered"
    if atomic.statement is None:
        return f"the result of {where} is used"
    element = pointers_of(kernel, facts).get(base) if base is not None else None
    if base is None or element is None:
        return f"{where} is not on an element of a kernel argument"
    if thread_dependent(address, kernel.thread_dependent) or not is_pure(address, kernel):
        return f"{where} goes to a different address in each thread"
    kinds = number_kinds(base, element, facts)
    if not kinds or not all(kind.name in _ZERO for kind in kinds):
        return f"{where} is on `{element}`, which cannot be shuffled between lanes"
    if not _known_at_end(address, kernel):
        return f"the address of {where} depends on local variables"
    site = AtomicSite(atomic, atomic.statement, address, atomic.arguments[1], base, element, kinds)
    if site.floating and _OPERATORS[atomic.function] != "+":
        return f"which of several floats {where} takes is not the same for a NaN"
    return site


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


def _key(site: AtomicSite) -> str:
    return f"{text_of(site.place)}|{site.atomic.function}"


def _accumulators(sites: list[AtomicSite], style: Style) -> dict[str, tuple[AtomicSite, str, str]]:
    """For each distinct address: a site, the name of what each thread has, the name of its LDS slots."""
    groups: dict[str, tuple[AtomicSite, str, str]] = {}
    for site in sites:
        if _key(site) not in groups:
            number = f"_{len(groups) + 1}" if groups else ""
            kind = "sum" if _operator(site) == "+" else "value"
            names = style.fresh(f"block_{kind}{number}"), style.fresh(f"wave_{kind}s{number}")
            groups[_key(site)] = (site, *names)
    return groups


def _declarations(
    source: bytes, kernel: KernelSyntax, groups: dict[str, tuple[AtomicSite, str, str]], style: Style
) -> Splice:
    texts = [f"{site.element} {name} = {_neutral(site)};" for site, name, _ in groups.values()]
    return at_start(source, kernel, style, style.lines(texts))


def _converted(site: AtomicSite, kernel: KernelSyntax) -> str:
    """The value, converted as the call of the atomic would have converted it."""
    text = text_of(site.value)
    if _operator(site) in ("max", "min"):  # both arguments must be of one type
        same = site.value.type == "identifier" and declared_type(text, kernel) == site.element
        return text if same else f"static_cast<{site.element}>({text})"
    inside = [n for n in walk(site.value) if n.type == "subscript_argument_list"]
    indices = {n.id for listed in inside for n in walk(listed)}
    for node in (n for n in walk(site.value) if n.id not in indices):
        if node.type == "identifier" and declared_type(text_of(node), kernel) != site.element:
            break
        if node.type == "number_literal" and not _literal_fits(text_of(node), site.element):
            break
        if node.type == "cast_expression" and text_of(child_of(node, "type")) == site.element:
            continue
        if node.type in ("call_expression", "field_expression", "conditional_expression", "cast_expression"):
            break
    else:
        return text
    return f"static_cast<{site.element}>({text})"


def _operator(site: AtomicSite) -> str:
    return _OPERATORS[site.atomic.function]


def _combined(site: AtomicSite, name: str, value: str) -> str:
    operator = _operator(site)
    if operator in ("max", "min"):
        return f"{name} = {operator}({name}, {value});"
    return f"{name} {operator}= {value};"


def _neutral(site: AtomicSite) -> str:
    """What changes nothing: 0 for sums and single bits, all bits, or the end of the type's range."""
    operator, element = _operator(site), site.element
    if element_bytes(element) is None:
        return _neutral_of_template(operator, element)
    zero = _ZERO[element_of(element).name]
    unsigned = zero.startswith("0u")
    if operator == "&" or (operator == "min" and unsigned):
        return f"~{zero}"
    if operator in ("max", "min") and not unsigned:
        return "-0x7fffffff - 1" if operator == "max" else "0x7fffffff"
    return zero


def _neutral_of_template(operator: str, element: str) -> str:
    """The same for every integer type that a template may stand for."""
    sign = f"{element}(1) << (8 * sizeof({element}) - 1)"
    signed = f"{element}(-1) < {element}(0)"
    return {
        "&": f"{element}(-1)",
        "max": f"({signed} ? {element}({sign}) : {element}(0))",
        "min": f"({signed} ? {element}(~({sign})) : {element}(-1))",
    }.get(operator, "0")


def _literal_fits(literal: str, element: str) -> bool:
    if element == "float":
        return literal.lower().endswith("f") and not literal.lower().startswith("0x")
    if element == "double":
        return "." in literal and not literal.lower().endswith("f")
    return literal.rstrip("uU").isdigit() and int(literal.rstrip("uU")) < 2**31


def _reduction(groups: dict[str, tuple[AtomicSite, str, str]], style: Style) -> str:
    thread, threads = style.fresh("thread_in_block"), style.fresh("threads_of_block")
    offset, other, wave = style.fresh("offset"), style.fresh("other"), style.fresh("wave")
    word = "Add up" if all(_operator(s) == "+" for s, _, _ in groups.values()) else "Combine"
    texts = [
        "",
        f"// {word} within each wave, then over the waves of the workgroup: one atomic is left.",
        f"const unsigned {thread} = {THREAD_IN_BLOCK};",
        f"const unsigned {threads} = {THREADS_OF_BLOCK};",
        f"for (unsigned {offset} = warpSize / 2; {offset} > 0; {offset} /= 2) {{",
    ]
    for number, (site, name, _) in enumerate(groups.values(), 1):
        received = other if len(groups) == 1 else style.fresh(f"other_{number}")
        texts.append(f"\tconst {site.element} {received} = __shfl_down({name}, {offset});")
        texts.append(f"\tif ({thread} + {offset} < {threads}) {_combined(site, name, received)}")
    texts.append("}")
    texts += [f"__shared__ {s.element} {slots}[{_WAVES}];" for s, _, slots in groups.values()]
    texts.append(f"if ({thread} % warpSize == 0) {{")
    texts += [f"\t{slots}[{thread} / warpSize] = {name};" for _, name, slots in groups.values()]
    texts += ["}", "__syncthreads();", f"if ({thread} == 0) {{"]
    texts.append(f"\tfor (unsigned {wave} = 1; {wave} * warpSize < {threads}; ++{wave}) {{")
    texts += [f"\t\t{_combined(site, name, f'{slots}[{wave}]')}" for site, name, slots in groups.values()]
    texts.append("\t}")
    for site, name, _ in groups.values():
        call = f"{site.atomic.function}({text_of(site.place)}, {name});"
        nothing = "0" if _operator(site) == "+" else _neutral(site)
        texts.append(f"\tif ({name} != {nothing}) {call}")
    texts.append("}")
    return "".join(style.lines([t]) if t else style.newline for t in texts)
