"""branchDivergence, any hot kernel: one thread looks for the largest of what is in LDS. The first wave does it.

Each lane looks through a part of the elements, then the lanes compare what they found by shuffles, neighbours first: of
equal elements the first one still counts, and what is no number still loses. 256 steps become four and six. Needs a
loop of one comparison (`>` or `<`) of LDS elements with the best one so far, which begins with a value that all threads
know, under `if (threadIdx.x == 0)` right behind a barrier. Results stay the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.loops import CountedLoop
from hipscope.analysis.source.nodes import (
    arguments_of,
    called,
    child_of,
    names_in,
    operator_of,
    sets,
    statements_of,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.thread_dependence import thread_dependent
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
    is_pure,
    numbered_name,
    style_of,
)
from hipscope.formulas.propose.rules.shared.moved_declarations import removal
from hipscope.formulas.propose.splice import Splice

_SIZES = ("", "fabsf", "fabs", "abs", "std::abs", "std::fabs")  # of an element, by which it is compared
_MIRRORED = {">": "<", "<": ">"}


@dataclass(frozen=True)
class _Kept:
    """A variable of the one thread: its type, what it begins with, where, and what a better element sets it to."""

    name: str
    kind: str
    begin: str
    statement: Node
    taken: str


@dataclass(frozen=True)
class _Search:
    """`if (size(array[i]) > size(best)) { best = array[i]; place = i; }` in a loop; `best` is the first of `kept`."""

    of: LoneLoop
    head: CountedLoop
    bound: Node
    start: str
    size: str
    relation: str
    kept: tuple[_Kept, ...]


@rewrite("wave_search", "LDS and reductions", "branchDivergence", anywhere=True, rank=15)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """The first wave looks for what one thread looked for in LDS.

    Needs: as `wave_sum`; one comparison by `>` or `<`; what is kept begins with values that all threads know.
    Results: same bits, NaN included.
    For: HeCBench hogbom.
    """
    searches = loops_of_one_thread(kernel, facts, _search)
    if isinstance(searches, str):
        return searches
    return edited(
        source,
        _splices(searches, source, style_of(source, kernel)),
        title="Let the first wave look through what one thread looks through alone",
        expected=(
            "One thread no longer goes through LDS element by element while all others wait. Results stay "
            "the same bit for bit."
        ),
        assumes=(f"workgroups of `{kernel.name}` have one dimension, and a wave or more of threads",),
    )


def _search(loop: LoneLoop, kernel: KernelSyntax) -> _Search | str:
    """A loop of one comparison, or why it is none."""
    where = loop.where
    counted = counted_from_number(loop.node)
    if counted is None:
        return f"{where} does not count from a number in steps of 1"
    head, start, bound = counted
    counter = head.variable
    if not same_for_all(bound, kernel):
        return f"where {where} ends may differ between threads"
    step, *others = statements_of(child_of(loop.node, "body")) or [loop.node]
    compared = _compared(step, counter, kernel) if step.type == "if_statement" and not others else None
    if compared is None:
        return f"{where} does something else than comparing elements of LDS with the best one"
    size, relation, element, best = compared
    taken = _taken(child_of(step, "consequence"), counter, kernel)
    if taken is None or taken.get(best) != element:
        return f"{where} does something else with a better element than keeping it and where it is"
    kept = [_begun(name, taken[name], loop.before, kernel) for name in (best, *sorted(taken.keys() - {best}))]
    known = tuple(one for one in kept if one is not None)
    arrays = {a.name for a in kernel.shared}
    needed = names_in(bound) | names_in(step) & arrays
    if len(known) < len(kept) or any(disturbs(n, needed) for n in loop.before):
        return f"what {where} begins with is not known to all threads"
    return _Search(loop, head, bound, start, size, relation, known)


def _compared(step: Node, counter: str, kernel: KernelSyntax) -> tuple[str, str, str, str] | None:
    """By what size, how, which element is compared with which variable: `fabsf(a[i]) > fabsf(best)`."""
    condition = child_of(step, "condition")
    comparison = condition.named_children[0] if condition.named_children else condition
    if step.child_by_field_name("alternative") is not None or comparison.type != "binary_expression":
        return None
    relation = operator_of(comparison)
    (size, left), (other, right) = (_sized(child_of(comparison, side)) for side in ("left", "right"))
    if relation not in _MIRRORED or size != other or size not in _SIZES:
        return None
    if _is_element(right, counter, kernel):
        left, right, relation = right, left, _MIRRORED[relation]
    if not _is_element(left, counter, kernel) or re.fullmatch(r"\w+", right) is None or right == counter:
        return None
    return size, relation, left, right


def _sized(side: Node) -> tuple[str, str]:
    """The function whose only argument a side is, and the text without it."""
    given = arguments_of(side) if side.type == "call_expression" else []
    if len(given) == 1:
        return called(side) or "?", re.sub(r"\s", "", text_of(given[0]))
    return "", re.sub(r"\s", "", text_of(side))


def _is_element(text: str, counter: str, kernel: KernelSyntax) -> bool:
    """Whether it is the counter's element of a one-dimensional array in LDS that holds numbers."""
    match = re.fullmatch(r"(\w+)\[(\w+)\]", text)
    array = next((a for a in kernel.shared if match is not None and a.name == match[1]), None)
    if match is None or array is None or match[2] != counter:
        return False
    return len(array.dimensions) == 1 and not array.dynamic and array.element_type in COUNTERS | FLOATS


def _taken(body: Node, counter: str, kernel: KernelSyntax) -> dict[str, str] | None:
    """What a better element sets: elements at its place, and the place. None where more is done."""
    found: dict[str, str] = {}
    for statement in statements_of(body):
        match = re.fullmatch(r"(\w+)=(.+);", re.sub(r"\s", "", text_of(statement)))
        if match is None or match[1] in found or match[1] == counter:
            return None
        if match[2] != counter and not _is_element(match[2], counter, kernel):
            return None
        found[match[1]] = match[2]
    return found


def _begun(name: str, taken: str, before: Sequence[Node], kernel: KernelSyntax) -> _Kept | None:
    """The variable with the value that it has before the loop, where all threads can compute that; else None."""
    shared = {a.name: a.element_type for a in kernel.shared}
    kind = declared_type(name, kernel) if name not in shared and kernel.parameter(name) is None else None
    if kind not in COUNTERS | FLOATS:
        return None
    own = kernel.thread_dependent - shared.keys()  # what lies at one address is the same for all threads
    for statement in reversed(before):
        if not disturbs(statement, {name}):
            continue
        values = [value for target, value in _assigned(statement) if target == name]
        if len(values) != 1 or any(n.type == "call_expression" for n in walk(statement)):
            return None
        value = values[0]
        same = is_pure(value, kernel) and not thread_dependent(value, own)
        set_here = any(disturbs(n, names_in(value)) for n in before if n.id != statement.id)
        return _Kept(name, kind, text_of(value), statement, taken) if same and not set_here else None
    return None


def _assigned(statement: Node) -> Iterator[tuple[str, Node]]:
    """What a statement that only assigns or declares sets to what: `best = 0.0f, place = 0;`, `float best = a[0];`."""
    for node in walk(statement):
        if sets(node):
            yield text_of(child_of(node, "left")), child_of(node, "right")
        elif node.type == "init_declarator":
            yield text_of(child_of(node, "declarator")), child_of(node, "value")


def _splices(searches: Sequence[_Search], source: bytes, style: Style) -> list[Splice]:
    """Each search by the wave before the one thread's statement, and what it found in place of the loop."""
    splices: list[Splice] = []
    given: list[str] = []
    for search in searches:
        names: dict[str, str] = {}
        for kept in search.kept:
            names[kept.name] = numbered_name(f"wave_{kept.name}", style, given)
            given.append(names[kept.name])
        splices.append(before_guard(search.of, _wave_lines(search, names, style, given), source, style))
        splices += _found(search, names, source, style)
    return splices


def _found(search: _Search, names: dict[str, str], source: bytes, style: Style) -> Iterator[Splice]:
    """What was found in place of the loop, and of what the variables begin with right before it."""
    begun = {kept.statement.id: kept.statement for kept in search.kept}
    declared: set[str] = set()
    before = search.head.node.prev_named_sibling
    while before is not None and before.id in begun:
        targets = [target for target, _ in _assigned(before)]
        own = [kept for kept in search.kept if kept.statement.id == before.id]
        if before.type == "declaration" and len(targets) == len(own) == 1:
            value = next(value for _, value in _assigned(before))
            yield Splice(value.start_byte, value.end_byte, names[own[0].name].encode())
            declared.add(own[0].name)
        elif before.type == "expression_statement" and len(targets) == len(own):
            yield removal(source, before)
        before = before.prev_named_sibling
    lines = [f"{kept.name} = {names[kept.name]};" for kept in search.kept if kept.name not in declared]
    yield in_place_of(search.head.node, lines, source, style) if lines else removal(source, search.head.node)


def _wave_lines(search: _Search, names: dict[str, str], style: Style, given: list[str]) -> Iterator[str]:
    """The lines that leave what a search finds in the first lane."""
    one, head = style.step, search.head
    counter, kind, condition = head.variable, head.type, text_of(child_of(head.node, "condition"))
    part, begin, offset = (numbered_name(stem, style, given) for stem in ("per_lane", "begin", "offset"))
    others = {kept.name: numbered_name(f"other_{kept.name}", style, given) for kept in search.kept}
    end, from_start = text_of(search.bound), f"{search.of.thread} * {part}"
    more = (head.comparison == "<=") - int(search.start) - 1
    rounded = f"{end} + warpSize" + (f" {'-' if more < 0 else '+'} {abs(more)}" if more else "")
    first = from_start if search.start == "0" else f"{search.start} + {from_start}"
    yield "// The first wave looks through what one thread would look through alone; of equals the first one counts."
    yield from (f"{kept.kind} {names[kept.name]} = {kept.begin};" for kept in search.kept)
    yield f"if ({search.of.thread} < warpSize) {{"
    yield f"{one}const {kind} {part} = ({rounded}) / warpSize;"
    yield f"{one}const {kind} {begin} = {first};"
    inside = f"{condition} && {counter} < {begin} + {part}"
    yield f"{one}for ({kind} {counter} = {begin}; {inside}; ++{counter}) {{"
    yield from _better(search, names, {kept.name: kept.taken for kept in search.kept}, one * 2, style)
    yield f"{one}}}"
    yield f"{one}for (int {offset} = 1; {offset} < warpSize; {offset} *= 2) {{"
    for kept in search.kept:
        yield f"{one * 2}const {kept.kind} {others[kept.name]} = __shfl_down({names[kept.name]}, {offset});"
    yield from _better(search, names, others, one * 2, style)
    yield f"{one}}}"
    yield "}"


def _better(
    search: _Search, names: dict[str, str], others: dict[str, str], indent: str, style: Style
) -> Iterator[str]:
    """`if (other > own) own = other;` with all that is kept."""
    best = search.kept[0].name
    other, own = (f"{search.size}({t})" if search.size else t for t in (others[best], names[best]))
    yield f"{indent}if ({other} {search.relation} {own}) {{"
    yield from (f"{indent}{style.step}{names[k.name]} = {others[k.name]};" for k in search.kept)
    yield f"{indent}}}"
