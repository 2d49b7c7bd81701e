"""atomicContention: a histogram. Count in LDS first, add the counts of a workgroup to global memory once.

Needs `atomicAdd`s to data-dependent elements of kernel arguments whose results are unused; several arrays (sums beside
counts) each get a copy. Where the types and constants of an index bound it, the copy has that many elements. Of other
arrays the number is guessed, and elements beyond the LDS copy keep going to global memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.nodes import (
    child_of,
    first_name,
    names_in,
    operator_of,
    takes_address,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import Atomic, KernelSyntax
from hipscope.analysis.source.thread_dependence import thread_dependent
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate
from hipscope.formulas.facts.launch_facts import LaunchFacts, pointers_of
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.ranges.index_bounds import IndexBounds
from hipscope.formulas.propose.rules.shared.atomic_sites import (
    AtomicSite,
    Sites,
    collect_sites,
    number_kinds,
    plain_addition,
)
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    THREAD_IN_BLOCK,
    THREADS_OF_BLOCK,
    Style,
    at_end,
    at_start,
    closing_braces,
    declared_type,
    fresh_name,
    guard_splices,
    indent_splices,
    indentation,
    is_pure,
    style_of,
)
from hipscope.formulas.propose.splice import Splice

_KINDS = frozenset({"fp32", "fp64", "int32", "uint32", "uint64"})
_MAX_LDS = 16 * 1024
_MAX_ARRAYS = 8
_GUESSES = (256, 1024)


@dataclass(frozen=True)
class _Array:
    """What is added to one array. `named` is how many elements can be reached where a template's arguments decide it;
    `count` elements are copied to LDS, `whole` says that no other one can be reached. 0: not known yet.
    """

    sites: tuple[AtomicSite, ...]
    count: int = 0
    named: str = ""
    whole: bool = False

    @property
    def base(self) -> str:
        return self.sites[0].base

    @property
    def size(self) -> int:
        return max(kind.size for kind in self.sites[0].kinds)

    @property
    def bytes(self) -> int:
        return self.count * self.size


@dataclass(frozen=True)
class _Copy:
    """An array with the names that the text gives to its copy and to its number of elements."""

    array: _Array
    name: str
    extent: str


@rewrite("lds_histogram", "LDS and reductions", "atomicContention", rank=46)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> list[Candidate] | str:
    """Counts in LDS, then adds each bin once per workgroup.

    Needs: `atomicAdd` to `array[data-dependent]`, result unused, no array read by the kernel; as many bins as the
    index can reach by its types and constants, else bins beyond the LDS copy stay global atomics.
    Results: integers: same bits.
    """
    collected = collect_sites(kernel, facts, _site)
    if isinstance(collected, str):
        return collected
    bases = dict.fromkeys(site.base for site in collected.sites)
    if len(bases) > _MAX_ARRAYS:
        return f"the kernel adds to {len(bases)} arrays, each of which would need LDS"
    bounds = IndexBounds(source, kernel, parse(source), facts)
    arrays = [_bounded(tuple(s for s in collected.sites if s.base == base), bounds) for base in bases]
    dynamic = max((launch.dynamic_lds for launch in facts.launches), default=0)
    candidates = []
    for counted in _counted(arrays, facts):
        if facts.static_lds + dynamic + sum(array.bytes for array in counted) > facts.lds_limit:
            continue
        candidates.append(_candidate(source, kernel, collected, counted))
    return candidates or "the LDS of the workgroup has no room for a copy of the bins"


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
    if _is_counted(atomic.arguments[1], index, kernel):
        return f"{where} adds what the workgroup has counted in LDS"
    return AtomicSite(atomic, atomic.statement, index, atomic.arguments[1], base, element, kinds)


def _is_counted(value: Node, index: Node, kernel: KernelSyntax) -> bool:
    """Whether it is the element of an LDS array that the index of the addition names."""
    return any(
        subscript.node.id == value.id
        and subscript.base in {array.name for array in kernel.shared}
        and [text_of(i) for i in subscript.indices] == [text_of(index)]
        for subscript in kernel.subscripts
    )


def _element(address: Node) -> tuple[str | None, Node | None]:
    """(`p`, `i`) of `&p[i]` and `p + i`."""
    if takes_address(address):
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


def _bounded(sites: tuple[AtomicSite, ...], bounds: IndexBounds) -> _Array:
    """An array, whole where its indices have a bound."""
    array = _Array(sites)
    ranges = [bounds.of(site.place) for site in sites]
    known = [found for found in ranges if found is not None and found[0] >= 0]
    count = max((found[1] for found in known), default=0) + 1
    if len(known) < len(sites) or count * array.size > _MAX_LDS:
        return array
    values = bounds.facts.types.values
    fixed = replace(bounds, facts=replace(bounds.facts, types=replace(bounds.facts.types, values={})))
    if not values or all(fixed.of(site.place) == found for site, found in zip(sites, ranges, strict=True)):
        return replace(array, count=count, whole=True)
    named = {_named_extent(site.place, bounds) for site in sites}
    text = named.pop() if len(named) == 1 else ""
    return replace(array, count=count, named=text, whole=True) if text else array


def _named_extent(index: Node, bounds: IndexBounds) -> str:
    """`N` of `x % N` and `x & (N - 1)`, where N is an argument of the template; "" of anything else."""
    while index.type in ("parenthesized_expression", "identifier"):
        value = index.named_children[0] if index.named_children else bounds.only_value(text_of(index))
        if value is None:
            return ""
        index = value
    right = child_of(index, "right")
    texts = {"%": "{}", "&": "({}-1)"}
    pattern = texts.get(operator_of(index), "") if index.type == "binary_expression" else ""
    names = [
        name for name in bounds.facts.types.values if pattern.format(name) == text_of(right).replace(" ", "")
    ]
    return names[0] if len(names) == 1 and min(bounds.facts.types.values[names[0]]) > 0 else ""


def _counted(arrays: Sequence[_Array], facts: LaunchFacts) -> list[list[_Array]]:
    """The arrays with their numbers of elements: as bound, as recorded, else as guessed."""
    others = [array for array in arrays if not array.whole]
    share = (_MAX_LDS - sum(array.bytes for array in arrays)) // max(1, len(others))
    if share < max((array.size for array in others), default=0):
        return []
    recorded = {array.base: _recorded(array, facts) for array in others}
    guesses = [guess for guess in _GUESSES if all(guess * array.size <= share for array in others)]
    if all(recorded.values()):
        guesses = [0]
    return [
        [
            a if a.whole else replace(a, count=min(recorded[a.base] or guess, share // a.size))
            for a in arrays
        ]
        for guess in guesses
    ]  # fmt: skip


def _recorded(array: _Array, facts: LaunchFacts) -> int:
    """How many elements the recorded launches have; 0 where that is not known."""
    sizes = [
        launch.buffer_bytes[array.base] // array.size
        for launch in facts.launches
        if array.base in launch.buffer_bytes
    ]
    return max(1, *sizes) if sizes else 0


def _copies(
    source: bytes, kernel: KernelSyntax, arrays: Sequence[_Array], style: Style
) -> tuple[list[_Copy], list[str]]:
    """The copies, and the lines that name their sizes where nothing does."""
    found: list[_Copy] = []
    named: dict[int, str] = {}
    lines: list[str] = []
    several = len({array.count for array in arrays}) > 1
    for array in arrays:
        plain = array.base.replace(".", "_")
        extent = array.named or _constant_named(source, kernel, array) or named.get(array.count)
        if extent is None:
            stem = f"{plain}_in_lds" if several else "bins_in_lds"
            extent = named[array.count] = fresh_name(stem, style, [*named.values(), *(c.name for c in found)])
            lines.append(f"constexpr unsigned {extent} = {array.count};")
        name = fresh_name(f"block_{plain}", style, [*named.values(), *(c.name for c in found)])
        found.append(_Copy(array, name, extent))
        lines.append(f"__shared__ {array.sites[0].element} {name}[{extent}];")
    return found, lines


def _candidate(source: bytes, kernel: KernelSyntax, sites: Sites, arrays: Sequence[_Array]) -> Candidate:
    style, returns = style_of(source, kernel), list(sites.returns)
    copies, declared = _copies(source, kernel, arrays, style)
    thread, threads, bin_ = style.fresh("thread_in_block"), style.fresh("threads_of_block"), style.fresh("b")
    clear: list[str] = []
    flush: list[str] = []
    for extent in dict.fromkeys(copy.extent for copy in copies):
        loop = f"for (unsigned {bin_} = {thread}; {bin_} < {extent}; {bin_} += {threads})"
        same = [copy for copy in copies if copy.extent == extent]
        zeros = [f"{copy.name}[{bin_}] = 0;" for copy in same]
        clear += (
            [f"{loop} {zeros[0]}"] if len(zeros) == 1 else [f"{loop} {{", *(f"\t{z}" for z in zeros), "}"]
        )
        flush += [f"{loop} {{", *(_added(copy, bin_) for copy in same), "}"]
    opening = [
        *declared,
        f"const unsigned {thread} = {THREAD_IN_BLOCK};",
        f"const unsigned {threads} = {THREADS_OF_BLOCK};",
        *clear,
        "__syncthreads();",
    ]
    closing = ["", "// Add what this workgroup counted.", "__syncthreads();", *flush]
    splices = [at_start(source, kernel, style, style.lines(opening) + style.newline)]
    within = {
        site.statement.id: sum(r.statement.end_byte <= site.statement.start_byte for r in returns)
        for site in sites.sites
    }
    splices += _site_splices(source, kernel, copies, style, within)
    splices += guard_splices(kernel, returns)
    splices += indent_splices(source, kernel, returns, style, splices)
    end = "".join(style.lines([t]) if t else style.newline for t in closing)
    splices.append(at_end(source, kernel, style, closing_braces(returns, style) + end))
    return edited(
        source,
        splices,
        title=_title(arrays),
        expected=(
            "The additions of a workgroup meet in its own LDS; global memory sees at most one atomic per bin and "
            "workgroup."
        ),
        exact=not any(site.floating for site in sites.sites),
    )


def _title(arrays: Sequence[_Array]) -> str:
    if len(arrays) == 1:
        return (
            f"Count in LDS first ({arrays[0].count} bins), then add to `{arrays[0].base}` once per workgroup"
        )
    listed = ", ".join(f"`{array.base}`: {array.count}" for array in arrays)
    return f"Count in LDS first ({listed} bins), then add to memory once per workgroup"


def _added(copy: _Copy, bin_: str) -> str:
    """The line that adds an element of a copy to its array."""
    function = copy.array.sites[0].atomic.function
    return f"\tif ({copy.name}[{bin_}] != 0) {function}(&{copy.array.base}[{bin_}], {copy.name}[{bin_}]);"


def _site_splices(
    source: bytes, kernel: KernelSyntax, copies: Sequence[_Copy], style: Style, within: dict[int, int]
) -> list[Splice]:
    """The atomics as LDS atomics, those of one index that follow each other under one condition."""
    listed = sorted(
        ((site, copy) for copy in copies for site in copy.array.sites),
        key=lambda found: found[0].statement.start_byte,
    )
    splices: list[Splice] = []
    run: list[tuple[AtomicSite, _Copy]] = []
    for site, copy in listed:
        if copy.array.whole:
            splices.append(_renamed(site, copy))
            continue
        if run and not _continues(source, run, site, copy):
            splices.append(_guarded(source, run, kernel, style, within))
            run = []
        run.append((site, copy))
    return [*splices, _guarded(source, run, kernel, style, within)] if run else splices


def _renamed(site: AtomicSite, copy: _Copy) -> Splice:
    """The array's name in the address, as that of the copy."""
    address = site.atomic.arguments[0]
    inner = child_of(address, "argument")
    base = child_of(inner, "argument") if address.type == "pointer_expression" else child_of(address, "left")
    return Splice(base.start_byte, base.end_byte, copy.name.encode())


def _continues(source: bytes, run: Sequence[tuple[AtomicSite, _Copy]], site: AtomicSite, copy: _Copy) -> bool:
    """Whether the statement follows the last one right away and goes to the same element of its array."""
    last, before = run[-1]
    between = source[last.statement.end_byte : site.statement.start_byte]
    index = text_of(site.place)
    return (
        not between.strip()
        and last.statement.parent == site.statement.parent
        and _alone(site)
        and site.place.type == "identifier"
        and text_of(last.place) == index
        and before.extent == copy.extent
        and not any(index in changed_names(found.statement) for found, _ in run)
    )


def _alone(site: AtomicSite) -> bool:
    return site.statement.parent is not None and site.statement.parent.type == "compound_statement"


def _guarded(
    source: bytes,
    run: Sequence[tuple[AtomicSite, _Copy]],
    kernel: KernelSyntax,
    style: Style,
    within: dict[int, int],
) -> Splice:
    """The atomics as LDS atomics where the bin has an LDS copy, else as they were; `within` new `if`s around them."""
    first, copy = run[0]
    outer = indentation(source, first.statement.start_byte) + style.step * within[first.statement.id]
    depth = outer
    index, lines = text_of(first.place), []
    named = first.place.type == "identifier"
    if not named or not _alone(first):
        lines.append("{")
        depth += style.step
    if not named:
        index = style.fresh("bin")
        lines.append(f"{depth}const auto {index} = {text_of(first.place)};")
    narrow = named and declared_type(index, kernel) in integers(32, 32)
    unsigned = "unsigned" if narrow else "unsigned long long"
    lines += [
        f"{depth}if (static_cast<{unsigned}>({index}) < {copy.extent}) {{",
        *(f"{depth}{style.step}{_call(s, c.name, index)}" for s, c in run),
        f"{depth}}} else {{",
        *(f"{depth}{style.step}{text_of(s.statement) if named else _call(s, s.base, index)}" for s, _ in run),
        f"{depth}}}",
    ]
    if depth != outer:
        lines.append(f"{outer}}}")
    text = style.newline.join(lines)
    return Splice(
        first.statement.start_byte, run[-1][0].statement.end_byte, text.removeprefix(outer).encode()
    )


def _call(site: AtomicSite, base: str, index: str) -> str:
    return f"{site.atomic.function}(&{base}[{index}], {text_of(site.value)});"


def _constant_named(source: bytes, kernel: KernelSyntax, array: _Array) -> str | None:
    """A file constant of this value from which the indices are computed, or by which they are limited: the name says
    more than the number.
    """
    constants, told = parse(source).constants, frozenset[str]()
    for site in array.sites:
        told |= _told_of(site.place, kernel)
    for name in sorted(told & set(constants)):
        try:
            if int(evaluate(constants[name], Wave({}, 1))[0]) == array.count:
                return name
        except NotStatic:
            continue
    return None


def _told_of(index: Node, kernel: KernelSyntax) -> frozenset[str]:
    """The names in an index, and in what sets or compares its names."""
    own = names_in(index)
    kinds = ("init_declarator", "assignment_expression", "condition_clause", "conditional_expression")
    told = [n for n in walk(kernel.body_node) if n.type in kinds and first_name(n) in own]
    return own.union(*map(names_in, told))
