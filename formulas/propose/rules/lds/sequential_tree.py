"""bankConflict, branchDivergence: a tree reduction whose partners move apart, so that lanes idle and banks collide.

The active threads become neighbours: thread t adds element t + ceil(s/2), until one is left. Right for any size.
Needs the interleaved loop in one of its usual forms over an LDS array, all threads in one dimension, and nobody who
reads more than element 0 afterwards. Sums of floats are added in another order. The last steps may be those of one
wave: by `wave_tree` where workgroups have a power of two of threads, else with a test in each step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipscope.analysis.kernel.loops import counted_loop, number_of
from hipscope.analysis.source.nodes import (
    BARRIERS,
    LOOPS,
    ancestors,
    arguments_of,
    called,
    child_of,
    sets,
    squeeze,
    statements_of,
    text_of,
    walk,
)
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, SharedArray
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.lds import wave_tree
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    INTEGER_TYPES,
    Style,
    declared_type,
    indentation,
    stands_for,
    style_of,
    ways_out,
)
from hipscope.formulas.propose.splice import Splice, apply_splices

_THREAD = ("threadIdx.x", "hipThreadIdx_x")
_EXPECTED = "Waves whose threads are done drop out as a whole, and the lanes of the others read neighbouring LDS words."


@dataclass(frozen=True)
class _Tree:
    """One interleaved reduction. `update` is the statement with `{at}` and `{partner}` for the indices."""

    loop: Node
    array: SharedArray
    thread: str
    limit: str
    update: str
    commutes: bool
    call: Node | None = None  # of a function that the program defines


@rewrite("sequential_tree", "LDS and reductions", "bankConflict", "branchDivergence", anywhere=True, rank=17)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Neighbouring threads do each step of an interleaved tree reduction.

    Needs: one of the usual loops over LDS, one-dimensional workgroups, only element 0 used afterwards; of `op` the
    compiler knows the body in all instances: a sum, a product, bits or an extreme of two numbers.
    Results: integers: same bits; floats in another order.
    """
    file = parse(source)
    reasons: list[str] = []
    trees: list[_Tree] = []
    for node in walk(kernel.body_node):
        if node.type == "for_statement" and (start := _doubling(node)) is not None:
            tree = _tree(node, *start, source, kernel, file, facts)
            if isinstance(tree, str):
                reasons.append(f"the loop on line {node.start_point.row + 1}: {tree}")
            else:
                trees.append(tree)
    if not trees:
        none = "the kernel has no loop whose step doubles from 1"
        return "; ".join(reasons) if reasons else none
    exact = all(tree.commutes for tree in trees)
    order = "" if exact else " Floating-point sums are added in another order."
    whole = edited(
        _with_loops(source, trees, kernel, _any_size),
        title="Let neighbouring threads do each step of the reduction",
        expected=_EXPECTED + order,
        exact=exact,
        terms=1 if exact else max(launch.workgroup[0] for launch in facts.launches),
    )
    title = f"{whole.title}, and one wave the last ones by shuffles"
    halved = _with_loops(source, trees, kernel, _halving)
    within = parse(halved).kernel(kernel.name)
    ended = wave_tree.propose(halved, within, None, facts) if within is not None else None
    if isinstance(ended, list):
        return [whole, replace(whole, title=title, text=ended[0].text, assumes=ended[0].assumes)]
    if not all(_can_be_shuffled(tree, kernel, facts) for tree in trees):
        return [whole]
    return [whole, replace(whole, title=title, text=_with_loops(source, trees, kernel, _ended, apart=True))]


def _can_be_shuffled(tree: _Tree, kernel: KernelSyntax, facts: LaunchFacts) -> bool:
    """Whether all threads of a wave are there, with elements that it exchanges."""
    written = tree.array.element_type
    kinds = facts.types.instances.get(written, frozenset({written}))
    return kinds <= wave_tree.SHUFFLED and not any(
        way.start_byte < tree.loop.end_byte for way in ways_out(kernel.body_node)
    )


def _with_loops(
    source: bytes,
    trees: Sequence[_Tree],
    kernel: KernelSyntax,
    written: Callable[[_Tree, KernelSyntax, Style, str], list[str]],
    *,
    apart: bool = False,
) -> bytes:
    """The text with these loops; `apart` where what one declares is still there at the next."""
    style = style_of(source, kernel)
    splices = []
    for tree in trees:
        lines = written(tree, kernel, style, indentation(source, tree.loop.start_byte))
        splices.append(Splice(tree.loop.start_byte, tree.loop.end_byte, style.newline.join(lines).encode()))
        if apart:
            style = replace(style, taken=style.taken | {style.fresh("left")})
    return apply_splices(source, splices)


def _any_size(tree: _Tree, kernel: KernelSyntax, style: Style, outer: str) -> list[str]:
    """The loop for any number of elements."""
    half, left, inner = style.fresh("half"), style.fresh("left"), outer + style.step
    counter = _counter_type(tree, kernel)
    update = tree.update.format(at=tree.thread, partner=f"{tree.thread} + {half}")
    return [
        f"for ({counter} {left} = {tree.limit}; {left} > 1;) {{",
        f"{inner}const {counter} {half} = ({left} + 1) / 2;",
        f"{inner}if ({tree.thread} < {left} / 2) {update}",
        f"{inner}{left} = {half};",
        f"{inner}__syncthreads();",
        f"{outer}}}",
    ]


def _ended(tree: _Tree, kernel: KernelSyntax, style: Style, outer: str) -> list[str]:
    """The loop for any number of elements, up to what one wave holds in its registers."""
    _, *steps, _ = _any_size(tree, kernel, style, outer)
    left, step, name, counter = style.fresh("left"), style.step, tree.array.name, _counter_type(tree, kernel)
    value, other, offset = style.fresh("value"), style.fresh("other"), style.fresh("offset")
    update = tree.update.replace(f"{name}[{{at}}]", value).replace(f"{name}[{{partner}}]", other).format()
    kind = tree.array.element_type
    lines = [
        f"{counter} {left} = {tree.limit};",
        f"while ({left} > warpSize) {{",
        *(line.removeprefix(outer) for line in steps),
        "}",
        "// One wave has the rest: its lanes exchange values without barriers.",
        f"if ({tree.thread} < warpSize) {{",
        f"{step}{kind} {value} = {name}[{tree.thread}];",
        f"{step}for ({counter} {offset} = warpSize / 2; {offset} > 0; {offset} /= 2) {{",
        f"{step * 2}const {kind} {other} = __shfl_down({value}, {offset});",
        f"{step * 2}if ({tree.thread} + {offset} < {left}) {update}",
        f"{step}}}",
        f"{step}if ({tree.thread} == 0) {name}[0] = {value};",
        "}",
        "__syncthreads();",
    ]
    return [lines[0], *(f"{outer}{line}" for line in lines[1:])]


def _halving(tree: _Tree, kernel: KernelSyntax, style: Style, outer: str) -> list[str]:
    """The loop for a power of two."""
    half, inner = style.fresh("half"), outer + style.step
    return [
        f"for ({_counter_type(tree, kernel)} {half} = {tree.limit} / 2; {half} > 0; {half} /= 2) {{",
        f"{inner}if ({tree.thread} < {half}) {tree.update.format(at=tree.thread, partner=f'{tree.thread} + {half}')}",
        f"{inner}__syncthreads();",
        f"{outer}}}",
    ]


def _counter_type(tree: _Tree, kernel: KernelSyntax) -> str:
    return "int" if declared_type(tree.thread, kernel) == "int" else "unsigned"


def _doubling(node: Node) -> tuple[str, str] | None:
    """(counter, limit) of `for (s = 1; s < limit; s *= 2)`."""
    loop = counted_loop(node)
    if isinstance(loop, str) or not loop.doubles or loop.further or loop.first is None or loop.bound is None:
        return None
    plain = loop.comparison == "<" and number_of(loop.first) == 1
    return (loop.variable, text_of(loop.bound)) if plain else None


def _tree(
    loop: Node,
    step: str,
    limit: str,
    source: bytes,
    kernel: KernelSyntax,
    file: FileSyntax,
    facts: LaunchFacts,
) -> _Tree | str:
    if any(a.type in LOOPS or a.type == "if_statement" for a in ancestors(loop, kernel.body_node)):
        return "it stands in another loop or condition"
    if (reason := _all_threads(limit, file, facts)) is not None:
        return reason
    statements = statements_of(child_of(loop, "body"))
    barriers = [s for s in statements if s.named_children and called(s.named_children[0]) in BARRIERS]
    work = [s for s in statements if s.id not in {b.id for b in barriers}]
    if not barriers or not work or work[-1].type != "if_statement":
        return "its body is not one guarded step and a barrier"
    if statements[0].id == barriers[0].id and len(barriers) == 1:
        return "its barrier comes before the step"
    guard = work[-1]
    if guard.child_by_field_name("alternative") is not None or len(work) > 2:
        return "its body is not one guarded step and a barrier"
    named = _own_index(work[0], step, kernel) if len(work) == 2 else None
    if len(work) == 2 and named is None:
        return "its body declares more than the element's number"
    tree = _step(loop, guard, step, limit, named, kernel)
    if isinstance(tree, str) or tree.call is None:
        return tree
    if (exact := facts.types.combines(source, tree.call)) is None:
        return f"`{squeeze(text_of(tree.call))}` is not known to combine two numbers in any order"
    return replace(tree, commutes=exact)


def _own_index(declaration: Node, step: str, kernel: KernelSyntax) -> tuple[str, str] | None:
    """(index, thread) of `int index = 2 * s * tid;`."""
    match = re.fullmatch(
        r"(?:const)?(?:int|unsigned|unsignedint|size_t|auto)(\w+)=(.*);",
        re.sub(r"\s", "", text_of(declaration)),
    )
    if match is None:
        return None
    factors = sorted(match[2].replace("(", "").replace(")", "").split("*"))
    rest = [f for f in factors if f not in ("2", step)]
    if len(factors) != 3 or len(rest) != 1 or not stands_for(rest[0], _THREAD, kernel):
        return None
    return match[1], rest[0]


def _step(
    loop: Node, guard: Node, step: str, limit: str, named: tuple[str, str] | None, kernel: KernelSyntax
) -> _Tree | str:
    condition = re.sub(r"\s", "", text_of(child_of(guard, "condition"))).removeprefix("(").removesuffix(")")
    inner = statements_of(child_of(guard, "consequence"))
    if len(inner) != 1 or inner[0].type != "expression_statement":
        return "a step does more than one thing"
    tight = re.sub(r"\s", "", limit)
    if named is not None:
        at, thread = named
        if condition not in (f"{at}<{tight}", f"{at}+{step}<{tight}"):
            return f"the condition `{condition}` is not the usual one"
    else:
        match = re.match(r"(?:\((\w[\w.]*)%\(2\*(\w+)\)\)|(\w[\w.]*)%\(2\*(\w+)\))==0(?:&&(.*))?$", condition)
        masked = re.match(r"\((\w[\w.]*)&\(2\*(\w+)-1\)\)==0(?:&&(.*))?$", condition)
        if match is not None:
            thread, used, more = match[1] or match[3], match[2] or match[4], match[5]
        elif masked is not None:
            thread, used, more = masked[1], masked[2], masked[3]
        else:
            return f"the condition `{condition}` is not the usual one"
        if used != step or (more is not None and more.strip("()") != f"{thread}+{step}<{tight}"):
            return f"the condition `{condition}` is not the usual one"
        at = thread
    if not stands_for(thread, _THREAD, kernel):
        return f"`{thread}` is not the number of the thread"
    return _update(loop, inner[0], at, thread, step, limit, kernel)


def _update(
    loop: Node, statement: Node, at: str, thread: str, step: str, limit: str, kernel: KernelSyntax
) -> _Tree | str:
    text = re.sub(r"\s", "", text_of(statement))
    name = text[: text.find("[")]
    array = next((a for a in kernel.shared if a.name == name), None)
    if array is None or len(array.dimensions) != 1:
        return "it does not work on a one-dimensional LDS array"
    here, there = f"{name}[{at}]", [f"{name}[{at}+{step}]", f"{name}[{step}+{at}]"]
    updates = {f"{here}+={t};": f"{name}[{{at}}] += {name}[{{partner}}];" for t in there}
    updates |= {f"{here}={here}+{t};": f"{name}[{{at}}] += {name}[{{partner}}];" for t in there}
    for function in ("max", "min", "fmaxf", "fminf"):
        new = f"{name}[{{at}}] = {function}({name}[{{at}}], {name}[{{partner}}]);"
        updates |= {f"{here}={function}({here},{t});": new for t in there}
    update, call = updates.get(text), None
    if update is None and (call := _call_of(statement)) is not None:
        update = _by_call(call, here, there, name)
    if update is None:
        return f"`{squeeze(text_of(statement))}` is no addition, minimum or maximum of two elements"
    later = [s for s in kernel.subscripts if s.base == name and s.span.start > loop.end_byte]
    mentions = [
        n for n in walk(kernel.body_node)
        if n.type == "identifier" and text_of(n) == name and n.start_byte > loop.end_byte
    ]  # fmt: skip
    if len(mentions) != len(later) or any(text_of(s.indices[0]) not in ("0", "0u") for s in later):
        return f"more than `{name}[0]` is used after it"
    return _Tree(loop, array, thread, limit, update, array.element_type in INTEGER_TYPES, call)


def _call_of(statement: Node) -> Node | None:
    """The call of `x[t] = op(...);`."""
    assignment = statement.named_children[0]
    if not sets(assignment):
        return None
    right = child_of(assignment, "right")
    return right if right.type == "call_expression" else None


def _by_call(call: Node, here: str, there: list[str], name: str) -> str | None:
    """The statement for a call of both elements, in the order in which they stand; None of other arguments."""
    roles = {here: f"{name}[{{at}}]", **dict.fromkeys(there, f"{name}[{{partner}}]")}
    given = [roles.get(re.sub(r"\s", "", text_of(argument)), "") for argument in arguments_of(call)]
    if sorted(given) != sorted({*roles.values()}):
        return None
    function = text_of(child_of(call, "function")).replace("{", "{{").replace("}", "}}")
    return f"{roles[here]} = {function}({', '.join(given)});"


def _all_threads(limit: str, file: FileSyntax, facts: LaunchFacts) -> str | None:
    """Why the loop does not run over exactly the threads of the workgroup in every recorded launch."""
    if not facts.launches:
        return "no captured launch shows the shape of the workgroups"
    if any(launch.workgroup[1:] != (1, 1) for launch in facts.launches):
        return "the workgroups have more than one dimension"
    if limit in ("blockDim.x", "hipBlockDim_x"):
        return None
    value = file.constants.get(limit)
    try:
        size = (
            int(limit)
            if limit.isdigit()
            else int(evaluate(value, Wave({}, 1))[0])
            if value is not None
            else None
        )
    except NotStatic:
        size = None
    if size is None or any(launch.workgroup[0] != size for launch in facts.launches):
        return f"`{limit}` is not the size of the workgroup"
    return None
