"""Sums (or largest and smallest values, or bits together) of a workgroup in place of atomics to one address.

Takes the atomics of a kernel and gives sites, one accumulator per address, and the lines that add up what all threads
have: wave shuffles, one LDS slot per wave, one atomic per workgroup, none when there is nothing to add.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.source.nodes import child_of, names_in, text_of, walk
from hipscope.analysis.source.number_types import element_bytes, element_of
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.analysis.source.thread_dependence import thread_dependent
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.rules.shared.atomic_sites import AtomicSite, number_kinds
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    MAX_THREADS,
    MIN_WAVE,
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    Style,
    declared_type,
    is_pure,
    renamed,
)
from hipscope.formulas.propose.splice import Splice

# What HIP has both atomics and shuffles for.
_ZERO = {"fp32": "0.0f", "fp64": "0.0", "int32": "0", "uint32": "0u", "uint64": "0ull"}
_OPERATORS = {
    "atomicAdd": "+", "unsafeAtomicAdd": "+", "atomicSub": "+", "atomicOr": "|", "atomicAnd": "&", "atomicXor": "^",
    "atomicMax": "max", "atomicMin": "min",
}  # fmt: skip
_WAVES = MAX_THREADS // MIN_WAVE


@dataclass(frozen=True)
class Accumulator:
    """What each thread has for one address: `name` in the thread, `slots` the LDS for the waves."""

    site: AtomicSite
    name: str
    slots: str


def workgroup_site(atomic: Atomic, kernel: KernelSyntax, facts: LaunchFacts) -> AtomicSite | str | None:
    """What to rewrite at this atomic, why it cannot be, or None when it is none of our business (LDS)."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if not atomic.arguments:
        return None
    address = atomic.arguments[0]
    base = _base(address)
    if base is not None and any(a.name == base for a in kernel.shared):
        return None
    element = pointers_of(kernel, facts).get(base) if base is not None else None
    if base is None or element is None:
        return f"{where} is not on an element of a kernel argument"
    site = atomic_on(atomic, base, element, facts)
    if isinstance(site, str):
        return site
    if thread_dependent(address, kernel.thread_dependent) or not is_pure(address, kernel):
        return f"{where} goes to a different address in each thread"
    if not _known_at_end(address, kernel):
        return f"the address of {where} depends on local variables"
    return site


def atomic_on(atomic: Atomic, base: str, element: str, facts: LaunchFacts) -> AtomicSite | str:
    """An atomic whose values can be combined before it, or why they cannot."""
    where = f"the {atomic.function} on line {atomic.span.line}"
    if atomic.function not in _OPERATORS or len(atomic.arguments) != 2:
        return f"{where} cannot be gathered"
    if atomic.statement is None:
        return f"the result of {where} is used"
    kinds = number_kinds(base, element, facts)
    if not kinds or not all(kind.name in _ZERO for kind in kinds):
        return f"{where} is on `{element}`, which cannot be shuffled between lanes"
    operator, floating = _OPERATORS[atomic.function], [kind.kind == "float" for kind in kinds]
    if any(floating) and operator in ("&", "|", "^"):
        return f"{where} is on floats"
    if any(floating) and operator != "+" and not all(floating):
        return f"{where} is on floats in some instances, on integers in others"
    return AtomicSite(
        atomic, atomic.statement, atomic.arguments[0], atomic.arguments[1], base, element, kinds
    )


def mixed_operations(sites: Sequence[AtomicSite]) -> str | None:
    """Why the sites cannot be gathered: one element is changed in ways of which the last one counts."""
    for site in sites:
        if any(operator_of(s) != operator_of(site) and _may_meet(s, site) for s in sites):
            return f"what becomes of `{site.base}` depends on the order of its different atomics"
    return None


def accumulators(sites: Iterable[AtomicSite], style: Style) -> dict[str, Accumulator]:
    """For each distinct address: what a thread has for it."""
    groups: dict[str, Accumulator] = {}
    for site in sites:
        if key_of(site) not in groups:
            number = f"_{len(groups) + 1}" if groups else ""
            kind = "sum" if operator_of(site) == "+" else "value"
            names = style.fresh(f"block_{kind}{number}"), style.fresh(f"wave_{kind}s{number}")
            groups[key_of(site)] = Accumulator(site, *names)
    return groups


def declarations(groups: Mapping[str, Accumulator], style: Style) -> str:
    """The accumulators, with what changes nothing."""
    return style.lines(f"{a.site.element} {a.name} = {neutral(a.site)};" for a in groups.values())


def gathered(
    sites: Iterable[AtomicSite],
    groups: Mapping[str, Accumulator],
    kernel: KernelSyntax,
    names: Mapping[str, str] | None = None,
) -> list[Splice]:
    """Each atomic as a change of its thread's accumulator; `names` are exchanged in its value."""
    return [in_place_of(s, change_of(s, groups[key_of(s)].name, kernel, names)) for s in sites]


def in_place_of(site: AtomicSite, text: str) -> Splice:
    """A text instead of the atomic's statement."""
    return Splice(site.statement.start_byte, site.statement.end_byte, text.encode())


def only_sums(sites: Sequence[AtomicSite], kernel: KernelSyntax) -> list[AtomicSite]:
    """The atomics whose value is all that a thread adds to their address: alone there, in no branch and no loop."""
    addresses = [key_of(s) for s in sites]
    return [
        s
        for s in sites
        if addresses.count(key_of(s)) == 1
        and s.statement.parent == kernel.body_node
        and operator_of(s) == "+"
    ]


def reduction(groups: Mapping[str, Accumulator], style: Style) -> str:
    """The lines that leave one atomic for the workgroup: all of its threads must come to them."""
    sites = [a.site for a in groups.values()]
    thread, threads = style.fresh("thread_in_block"), style.fresh("threads_of_block")
    wave = style.fresh("wave")
    word = "Add up" if all(operator_of(s) == "+" for s in sites) else "Combine"
    texts = [
        "",
        f"// {word} within each wave, then over the waves of the workgroup: one atomic is left.",
        f"const unsigned {thread} = {THREAD_IN_BLOCK};",
        f"const unsigned {threads} = {THREADS_OF_BLOCK};",
        *within_waves([(a.site, a.name) for a in groups.values()], thread, threads, style),
    ]
    texts.append(f"// By wave: {MAX_THREADS} threads at most, in waves of {MIN_WAVE} or more.")
    texts += [f"__shared__ {a.site.element} {a.slots}[{_WAVES}];" for a in groups.values()]
    texts.append(f"if ({thread} % warpSize == 0) {{")
    texts += [f"\t{a.slots}[{thread} / warpSize] = {a.name};" for a in groups.values()]
    texts += ["}", "__syncthreads();", f"if ({thread} == 0) {{"]
    texts.append(f"\tfor (unsigned {wave} = 1; {wave} * warpSize < {threads}; ++{wave}) {{")
    texts += [f"\t\t{_combined(a.site, a.name, f'{a.slots}[{wave}]')}" for a in groups.values()]
    texts.append("\t}")
    for a in groups.values():
        texts.append("\t" + once(a.site, a.name, text_of(a.site.place)))
    texts.append("}")
    return "".join(style.lines([t]) if t else style.newline for t in texts)


def within_waves(
    values: Sequence[tuple[AtomicSite, str]], thread: str, threads: str, style: Style
) -> list[str]:
    """The lines after which the first lane of each wave has what all lanes of its wave had, of each value."""
    offset, other = style.fresh("offset"), style.fresh("other")
    texts = [f"for (unsigned {offset} = warpSize / 2; {offset} > 0; {offset} /= 2) {{"]
    for number, (site, name) in enumerate(values, 1):
        received = other if len(values) == 1 else style.fresh(f"other_{number}")
        texts.append(f"\tconst {site.element} {received} = __shfl_down({name}, {offset});")
        texts.append(f"\tif ({thread} + {offset} < {threads}) {_combined(site, name, received)}")
    return [*texts, "}"]


def change_of(
    site: AtomicSite, name: str, kernel: KernelSyntax, names: Mapping[str, str] | None = None
) -> str:
    """An atomic as a change of a variable; `names` are exchanged in its value."""
    return _combined(site, name, _converted(site, kernel, names or {}))


def variable_of(site: AtomicSite, name: str, kernel: KernelSyntax) -> str:
    """An atomic as the declaration of a variable that holds its value."""
    return f"{site.element} {name} = {_converted(site, kernel, {})};"


def once(site: AtomicSite, name: str, place: str) -> str:
    """The atomic with what was gathered, left out where that is nothing."""
    nothing = "0" if operator_of(site) == "+" else neutral(site)
    return f"if ({name} != {nothing}) {site.atomic.function}({place}, {name});"


def key_of(site: AtomicSite) -> str:
    """The address and what is done there."""
    return f"{text_of(site.place)}|{site.atomic.function}"


def depends_on_order(site: AtomicSite) -> bool:
    """Whether the last digits of the result do: sums of floats."""
    return site.floating and operator_of(site) == "+"


def operator_of(site: AtomicSite) -> str:
    """How two values become one."""
    return _OPERATORS[site.atomic.function]


def _may_meet(one: AtomicSite, other: AtomicSite) -> bool:
    """Whether both may be on the same element."""
    return one.base == other.base and (None in (one.number, other.number) or one.number == other.number)


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


def declared_in(kernel: KernelSyntax) -> list[Node]:
    """The names of the kernel's own variables, where they are declared."""
    return [
        name
        for node in walk(kernel.body_node)
        if node.type in ("declaration", "init_declarator")
        for name in node.children_by_field_name("declarator")
        if name.type == "identifier"
    ]


def _known_at_end(address: Node, kernel: KernelSyntax) -> bool:
    """True when the address only names what is there at the end of the kernel, and has the value of then."""
    names = [text_of(name) for name in declared_in(kernel)]
    lasting = _lasting(kernel)
    lost = {name for name in names if names.count(name) > 1 or name not in lasting}
    return not (names_in(address) & (lost | changed_once_declared(kernel)))


def _lasting(kernel: KernelSyntax) -> frozenset[str]:
    """The variables of the kernel's own block that are declared before it may be left."""
    leaves = [n.start_byte for n in walk(kernel.body_node) if n.type == "return_statement"]
    end = min(leaves, default=kernel.body.end)
    own = [n for n in kernel.body_node.named_children if n.type == "declaration" and n.end_byte <= end]
    return frozenset(
        text_of(name)
        for name in declared_in(kernel)
        if any(d.start_byte <= name.start_byte < d.end_byte for d in own)
    )


def _converted(site: AtomicSite, kernel: KernelSyntax, names: Mapping[str, str]) -> str:
    """The value, converted as the call of the atomic would have converted it."""
    text = renamed(site.value, names)
    if operator_of(site) in ("max", "min"):  # both arguments must be of one type
        same = site.value.type == "identifier" and declared_type(text_of(site.value), kernel) == site.element
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


def _combined(site: AtomicSite, name: str, value: str) -> str:
    operator = operator_of(site)
    if operator not in ("max", "min"):
        return f"{name} {operator}= {value};"
    # As the atomic of floats does: a NaN is never the largest, and stays if it is in memory.
    function = f"f{operator}" if site.floating else operator
    return f"{name} = {function}({name}, {value});"


def neutral(site: AtomicSite) -> str:
    """What changes nothing: 0 for sums and single bits, all bits, or the end of the type's range."""
    operator, element = operator_of(site), site.element
    if site.floating and operator != "+":
        return "-INFINITY" if operator == "max" else "INFINITY"
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
