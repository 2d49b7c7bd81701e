"""atomicContention: all threads of a workgroup add to one variable. Add within each wave by shuffles first.

The variable is in LDS, or an element of an argument that is another one in each step of a loop (`sums[k]`); one that
stays is added up once for the whole workgroup (block_reduce). The compiler reduces a wave to one atomic, too, but not
for all types, and one lane after the other (64 steps of a scalar loop): shuffles need six. Needs a statement that all
threads come to, under conditions and in loops that they take alike, the result unused, and nothing else in that
statement that looks at the variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.array_accesses import pointer_of
from hipscope.analysis.source.nodes import ancestors, child_of, text_of, walk
from hipscope.analysis.source.number_types import vector_type
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.analysis.source.thread_dependence import Uses, divergence, thread_dependent
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.atomic_sites import AtomicSite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    Style,
    numbered_name,
    style_of,
)
from hipscope.formulas.propose.rules.shared.loop_elements import (
    Around,
    around,
    indices_of,
    is_steady,
    names_of,
    seen_before_the_end,
)
from hipscope.formulas.propose.rules.shared.workgroup_reduction import (
    atomic_on,
    change_of,
    depends_on_order,
    in_place_of,
    key_of,
    neutral,
    once,
    variable_of,
    within_waves,
    workgroup_site,
)
from hipscope.formulas.propose.splice import Splice

_MEMBERS = "xyzw"  # of HIP's vectors
_AROUND = {
    "compound_statement",
    "if_statement",
    "else_clause",
    "for_statement",
    "while_statement",
    "do_statement",
}


@rewrite("wave_reduce", "Atomics", "atomicContention", rank=45)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Adds up within each wave by shuffles before an atomic.

    Needs: a statement that all threads come to, under conditions and in loops that they take alike; an address that
    is the same for all of them; result unused; nothing else in the statement looks at the variable, no pointer leads
    to it.
    Results: integers: same bits; floats in another order.
    """
    asked = [_site(atomic, kernel, facts) for atomic in kernel.atomics]
    sites = [site for site in asked if isinstance(site, AtomicSite)]
    reasons: dict[str, None] = {site: None for site in asked if isinstance(site, str)}
    groups: dict[tuple[int, str], tuple[Node, list[AtomicSite]]] = {}
    for site in sites:
        same = [other.place for other in sites if key_of(other) == key_of(site)]
        statement = _statement(site, same, kernel, facts)
        if isinstance(statement, Node):
            groups.setdefault((statement.id, key_of(site)), (statement, []))[1].append(site)
        else:
            reasons[statement] = None
    found = list(groups.values())
    if not found:
        return "; ".join(reasons) or "the kernel has no atomic on a variable that all threads share"
    style = style_of(source, kernel)
    floating = any(depends_on_order(site) for _, sites in found for site in sites)
    shared = {array.name for array in kernel.shared}
    in_lds = all(site.base in shared for _, sites in found for site in sites)
    return edited(
        source,
        _splices(source, kernel, facts, found, style),
        title=f"Add up within each wave before the atomic{' on LDS' if in_lds else ''}",
        expected=(
            (
                "Six shuffles of a wave instead of a loop over its lanes."
                if in_lds
                else "One atomic of each wave instead of one of each lane."
            )
            + (" Floating-point sums are added in another order." if floating else "")
        ),
        exact=not floating,
    )


def _site(atomic: Atomic, kernel: KernelSyntax, facts: LaunchFacts) -> AtomicSite | str | None:
    """An atomic on a place that is the same for all threads; None for one that is on no variable of these."""
    base = _variable(atomic.arguments[0]) if atomic.arguments else None
    types = {array.name: array.element_type for array in kernel.shared}
    if base not in types:
        if isinstance(workgroup_site(atomic, kernel, facts), AtomicSite):
            return f"the {atomic.function} on line {atomic.span.line} can be one of the whole workgroup"
        types = pointers_of(kernel, facts)
    if base is None or base not in types:
        return None
    element = _member_type(atomic.arguments[0], types[base])
    if element is None:
        return f"the {atomic.function} on line {atomic.span.line} is on a member of `{types[base]}`"
    indices = list(indices_of(atomic.arguments[0]))
    differ = _differing(kernel)
    if any(thread_dependent(i, *differ) for i in indices) or not is_steady(indices, kernel):
        return f"the {atomic.function} on line {atomic.span.line} goes to a different address in each thread"
    return atomic_on(atomic, base, element, facts)


def _member_type(address: Node, kind: str) -> str | None:
    """`double` of `&sum.x` where the variable is a `double4`; the variable's own type without a member."""
    inner = address.named_children[0] if address.type == "pointer_expression" else address
    if inner.type != "field_expression":
        return kind
    vector, member = vector_type(kind), _MEMBERS.find(text_of(child_of(inner, "field")))
    return vector[0] if vector is not None and 0 <= member < vector[1] else None


def _variable(address: Node) -> str | None:
    """`sum` of `&sum`, of `&sum.x`, of `&sum[i]` and of `sum + i`."""
    inner = address.named_children[0] if address.type == "pointer_expression" else address
    if inner.type == "field_expression" and "->" not in text_of(inner):
        inner = child_of(inner, "argument")
    if inner.type == "identifier":
        return text_of(inner)
    place = pointer_of(address)
    return place[0] if place is not None else None


def _statement(
    site: AtomicSite, same: Sequence[Node], kernel: KernelSyntax, facts: LaunchFacts
) -> Node | str:
    """The outermost statement with the atomic that all threads come to, and in which nobody looks at the variable."""
    where = f"the {site.atomic.function} on line {site.atomic.span.line}"
    around_it = [site.statement, *ancestors(site.statement, kernel.body_node)]
    if any(outer.type == "lambda_expression" for outer in around_it):
        return f"{where} stands in a lambda"
    names = names_of(list(indices_of(site.place)), kernel)
    why = f"not all threads come to {where}"
    for statement in reversed(around_it):
        if statement.parent is None or statement.parent.type != "compound_statement":
            continue
        if not _all_come_to(statement, kernel):
            lost = f"not all threads come to {where}"
            return lost if why == lost else f"{why}; inside of that {lost}"
        seen = seen_before_the_end((statement,), site.base, same, kernel, facts)
        if seen is None and not names & changed_names(statement):
            return statement
        why = f"`{text_of(site.place)}`: {seen}" if seen is not None else f"the address of {where} changes"
    return why


def _all_come_to(statement: Node, kernel: KernelSyntax) -> bool:
    """Whether all threads of a workgroup run a statement equally often."""
    kinds = {outer.type for outer in ancestors(statement, kernel.body_node)}
    jumps = (n for n in walk(kernel.body_node) if n.type in ("goto_statement", "labeled_statement"))
    return (
        kinds <= _AROUND
        and next(jumps, None) is None
        and divergence(statement, kernel.body_node, *_differing(kernel)) is None
    )


def _differing(kernel: KernelSyntax) -> tuple[frozenset[str], Uses]:
    """The names that may differ between threads, and their uniform uses; a call may change what it is given."""
    changed = changed_names(*(n for n in walk(kernel.body_node) if n.type == "call_expression"))
    uniform = frozenset(use for use in kernel.uniform_uses if use[0] not in changed)
    return kernel.thread_dependent | changed, uniform


def _splices(
    source: bytes,
    kernel: KernelSyntax,
    facts: LaunchFacts,
    found: list[tuple[Node, list[AtomicSite]]],
    style: Style,
) -> Iterator[Splice]:
    thread, threads = style.fresh("thread_in_block"), style.fresh("threads_of_block")
    names: list[str] = []
    places: dict[int, Around] = {}
    values: dict[int, list[tuple[AtomicSite, str]]] = {}
    ends = _ends(found, kernel, facts)
    for statement, sites in found:
        names.append(numbered_name("wave_sum", style, names))
        alone = sites[0].statement.id == statement.id
        if not alone:
            lines = places.setdefault(statement.id, Around(statement))
            lines.before.append(f"{sites[0].element} {names[-1]} = {neutral(sites[0])};")
        end = ends[statement.id]
        places.setdefault(end.id, Around(end))
        values.setdefault(end.id, []).append((sites[0], names[-1]))
        for site in sites:
            change = variable_of(site, names[-1], kernel) if alone else change_of(site, names[-1], kernel)
            yield in_place_of(site, change)
    for number, lines in places.items():
        inner = [
            f"const unsigned {thread} = {THREAD_IN_BLOCK};",
            f"const unsigned {threads} = {THREADS_OF_BLOCK};",
            *within_waves(values[number], thread, threads, style),
            f"if ({thread} % warpSize == 0) {{",
            *(f"\t{once(site, name, text_of(site.place))}" for site, name in values[number]),
            "}",
        ]
        lines.after += ["{", *(f"\t{line}" for line in inner), "}"]
        lines.after[:] = [line.replace("\t", style.step) for line in lines.after]
        yield from around(source, lines, style)


def _ends(
    found: Sequence[tuple[Node, list[AtomicSite]]], kernel: KernelSyntax, facts: LaunchFacts
) -> dict[int, Node]:
    """Of atomics one behind the other the last one's statement, by those of all: there they are added up together."""
    alone = {statement.id: sites[0] for statement, sites in found if sites[0].statement.id == statement.id}
    places = [site.place for site in alone.values()]
    ends: dict[int, Node] = {}
    run: tuple[Node, ...] = ()
    for statement, _ in reversed(found):
        following = statement.next_named_sibling
        joined = bool(run) and following is not None and following.id == run[0].id and statement.id in alone
        longer = (statement, *run)
        if joined and all(_unseen(alone[s.id], longer, places, kernel, facts) for s in longer):
            ends[statement.id], run = ends[run[0].id], longer
        else:
            ends[statement.id], run = statement, (statement,) if statement.id in alone else ()
    return ends


def _unseen(
    site: AtomicSite, run: tuple[Node, ...], places: Sequence[Node], kernel: KernelSyntax, facts: LaunchFacts
) -> bool:
    """Whether the atomic can be behind all of these statements."""
    return seen_before_the_end(run, site.base, places, kernel, facts) is None
