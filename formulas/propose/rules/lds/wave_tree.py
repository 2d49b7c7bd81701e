"""Any hot kernel: the last steps of a tree reduction in LDS go by shuffles, since one wave has all that is left.

From as many elements as a wave has lanes on, a halving loop needs no barrier: lane t gets what lane t + s has in its
register. Lane 0 combines the same values in the same order, so that results stay the same bit for bit.
Needs a loop from half of a power of two over LDS arrays, all threads in one dimension, and nobody who reads more than
element 0 afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.builtins import is_a
from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.kernel.loops import counted_loop, number_of
from hipscope.analysis.source.nodes import (
    BARRIERS,
    LOOPS,
    ancestors,
    called,
    child_of,
    initialized,
    statements_of,
    text_of,
    walk,
)
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax, SharedArray, Subscript
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import parse_with_types
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    INTEGER_TYPES,
    MAX_THREADS,
    Style,
    declared_type,
    indentation,
    numbered_name,
    renamed,
    stands_for,
    style_of,
    ways_out,
)
from hipscope.formulas.propose.splice import Splice

SHUFFLED = INTEGER_TYPES | {"float", "double"}
_THREAD = ("threadIdx.x", "hipThreadIdx_x")
_THREADS = ("blockDim.x", "hipBlockDim_x")
_POWERS = tuple(1 << power for power in range(MAX_THREADS.bit_length()))
_LEVELS = 3  # of names for names
_NO_STEP = "its body is not one guarded step and a barrier"


@dataclass(frozen=True)
class _Loop:
    """A halving loop: its counter, the text that it begins with, its condition and the statements of a step."""

    node: Node
    counter: str
    start: str
    condition: Node
    steps: tuple[Node, ...]


@dataclass(frozen=True)
class _Tree:
    """A reduction: `step` are the statements that thread `thread` does, `sized` if the launch decides its length."""

    loop: _Loop
    thread: str
    step: tuple[Node, ...]
    arrays: tuple[SharedArray, ...]
    barrier_last: bool
    sized: bool


@rewrite("wave_tree", "LDS and reductions", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Ends a halving reduction within one wave, in registers.

    Needs: half of a power of two, known from a constant or from constant workgroups, a wave or more, of one
    dimension; a step changes only the thread's own element, from its own and its partner's; only element 0 used
    afterwards.
    Results: integers: same bits; floats in another order.
    For: HeCBench damage, BabelStream.
    """
    file, found = (
        parse_with_types(source, facts),
        [loop for node in walk(kernel.body_node) if (loop := _halving(node))],
    )
    if not found:
        return "the kernel itself has no loop whose step halves down to 1"
    trees = [(loop, _tree(loop, kernel, file, facts)) for loop in found]
    good = [tree for _, tree in trees if isinstance(tree, _Tree)]
    if not good:
        reasons = (f"the loop on line {loop.node.start_point.row + 1}: {why}" for loop, why in trees)
        return "; ".join(reasons)
    style = style_of(source, kernel)
    splices = [splice for tree in good for splice in _splices(tree, source, style)]
    sized = any(tree.sized for tree in good)
    return edited(
        source,
        splices,
        title="Let one wave end the reduction by shuffles",
        expected=(
            "The last steps need no barriers and no LDS. Each sum is made of the same values in the same "
            "order: results stay the same bit for bit."
        ),
        assumes=(
            (f"workgroups of `{kernel.name}` have a power of two of threads, a wave or more",)
            if sized
            else ()
        ),
    )


def _halving(node: Node) -> _Loop | None:
    """The loop, if its counter is halved until it is 0."""
    loop = counted_loop(node)
    if isinstance(loop, str) or not loop.halves or loop.further:
        return None
    least = 0 if loop.bound is None else number_of(loop.bound)
    if (loop.comparison, least) not in ((">", 0), (">=", 1), ("!=", 0)):
        return None
    start, condition = loop.first, child_of(node, "condition")
    begin = text_of(start) if start is not None else ""
    if node.type == "while_statement":
        condition, before = child_of(condition, "value"), _sibling_before(node)
        found = (
            re.search(rf"\b{loop.variable}\s*=\s*([^,;=]+?)\s*;?\s*$", text_of(before)) if before else None
        )
        begin = found[1] if found is not None else ""
    steps = tuple(c for c in loop.statements if c.type != "comment")
    return _Loop(node, loop.variable, begin, condition, steps) if begin else None


def _sibling_before(node: Node) -> Node | None:
    before = node.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    return before


def _tight(node: Node) -> str:
    return re.sub(r"\s", "", text_of(node))


def _tree(loop: _Loop, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts) -> _Tree | str:
    """The reduction that the loop is, or why it cannot end by shuffles."""
    if any(a.type in LOOPS for a in ancestors(loop.node, kernel.body_node)):
        return "it stands in another loop"
    if any(n.start_byte < loop.node.end_byte for n in ways_out(kernel.body_node)):
        return "threads leave the kernel before it"
    if _used_later(loop, kernel):
        return f"`{loop.counter}` is used after it"
    if isinstance(sized := _size(loop, kernel, file, facts), str):
        return sized
    barriers = [s for s in loop.steps if s.named_children and called(s.named_children[0]) in BARRIERS]
    work = [s for s in loop.steps if s not in barriers]
    if len(barriers) != 1 or len(work) != 1 or work[0].type != "if_statement":
        return _NO_STEP
    if work[0].child_by_field_name("alternative") is not None:
        return _NO_STEP
    thread = _guarded(work[0], loop.counter)
    if thread is None or not stands_for(thread, _THREAD, kernel):
        return f"the condition `{_tight(child_of(work[0], 'condition'))}` is not the usual one"
    step = tuple(statements_of(child_of(work[0], "consequence")))
    arrays = _arrays(step, thread, loop, kernel, file)
    if isinstance(arrays, str):
        return arrays
    return _Tree(loop, thread, step, arrays, loop.steps[-1] in barriers, sized)


def _used_later(loop: _Loop, kernel: KernelSyntax) -> bool:
    """Whether the counter lives longer than the loop and is mentioned again."""
    first = loop.node.child_by_field_name("initializer")
    if first is not None and first.type == "declaration":
        return False
    names = (
        n for n in walk(kernel.body_node) if n.type == "identifier" and n.start_byte > loop.node.end_byte
    )
    return any(text_of(n) == loop.counter for n in names)


def _size(loop: _Loop, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts) -> bool | str:
    """Whether the launch decides the length; why the length is no power of two from a wave's lanes on."""
    if not facts.launches:
        return "no captured launch shows the shape of the workgroups"
    if any(launch.workgroup[1:] != (1, 1) for launch in facts.launches):
        return "the workgroups have more than one dimension"
    sizes = {launch.workgroup[0] for launch in facts.launches}
    start = _written_out(loop.start, kernel)
    sized = any(f"({threads})" in start for threads in _THREADS)
    lengths = {2 * value for size in sizes for value in _values(start, size, kernel, file)}
    if not lengths:
        return f"`{loop.start}` is not known"
    if sized and facts.written is None:
        return "a run decides the size of the workgroups"
    promised = [size for size in _POWERS if size >= facts.wave_size]  # what the assumption allows
    for size in (facts.written or 0, *promised) if sized else ():
        lengths |= {2 * value for value in _values(start, size, kernel, file)}
    if any(n & (n - 1) or n < facts.wave_size for n in lengths):
        return f"it begins at `{loop.start}`, which is not half of a power of two, a wave or more"
    return "a workgroup is smaller than a wave" if min(sizes) < facts.wave_size else sized


def _written_out(text: str, kernel: KernelSyntax) -> str:
    """The expression with integers of the kernel that never change in place of their names, threads in brackets."""
    changed = changed_once_declared(kernel)
    for _ in range(_LEVELS):
        for name in {n for n in re.findall(r"(?<!\.)\b[A-Za-z_]\w*", text) if n not in changed}:
            values = initialized(name, kernel.body_node)
            if len(values) == 1 and declared_type(name, kernel) in INTEGER_TYPES:
                text = f"({text_of(child_of(values[0], 'value'))})".join(
                    re.split(rf"(?<!\.)\b{name}\b", text)
                )
    return re.sub("|".join(map(re.escape, _THREADS)), lambda match: f"({match[0]})", text)


def _values(text: str, threads: int, kernel: KernelSyntax, file: FileSyntax) -> set[int]:
    """The value of an expression of numbers, constants of the file and the size of the workgroup, if it is one."""
    for size in _THREADS:
        text = text.replace(size, str(threads))
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    own = names & set(re.findall(r"\w+", kernel.template_head))
    if own or any(declared_type(name, kernel) is not None for name in names):
        return set()
    root = parse(f"auto start = {text};".encode()).root
    value = next((n.child_by_field_name("value") for n in walk(root) if n.type == "init_declarator"), None)
    try:
        known = {name: evaluate(node, Wave({}, 1)) for name, node in file.constants.items() if name in names}
        return {int(evaluate(value, Wave(known, 1))[0])} if value is not None else set()
    except NotStatic:
        return set()


def _guarded(guard: Node, counter: str) -> str | None:
    """The thread of `thread < counter`."""
    match = re.fullmatch(r"\(([\w.]+)([<>])([\w.]+)\)", _tight(child_of(guard, "condition")))
    if match is None:
        return None
    small, large = (match[1], match[3]) if match[2] == "<" else (match[3], match[1])
    return small if large == counter else None


def _arrays(
    step: tuple[Node, ...], thread: str, loop: _Loop, kernel: KernelSyntax, file: FileSyntax
) -> tuple[SharedArray, ...] | str:
    """The arrays that a step combines, or why it does something else."""
    own = {
        text_of(declarator)
        for statement in step
        if statement.type == "declaration"
        for node in walk(statement)
        for declarator in node.children_by_field_name("declarator")
        if declarator.type == "identifier"
    }
    names: list[str] = []
    for node in (n for statement in step for n in _outside_subscripts(statement)):
        if node.type == "subscript_expression":
            if (role := _role(node, thread, loop.counter)) is None:
                return f"`{text_of(node)}` is no element of the thread or its partner"
            if role == "partner" and _is_written(node):
                return "a step changes the partner's element"
            names.append(text_of(child_of(node, "argument")))
        elif node.type in ("identifier", "field_expression") and not (
            text_of(node) in own or is_a(text_of(node), "extreme") or _is_functor(node, kernel)
        ):
            return f"a step uses `{text_of(node)}`, too"
    arrays = tuple(a for name in dict.fromkeys(names) for a in kernel.shared if a.name == name)
    if not arrays or len(arrays) != len(set(names)) or any(len(a.dimensions) != 1 for a in arrays):
        return "it does not work on one-dimensional LDS arrays"
    reasons = (_why_kept(array, thread, loop, kernel, file) for array in arrays)
    return next((reason for reason in reasons if reason), arrays)


def _is_functor(node: Node, kernel: KernelSyntax) -> bool:
    """Whether it is what the caller gives to combine two values: `op(x, y)`, `Op()(x, y)` of a type of the template."""
    call = node.parent
    if call is None or call.type != "call_expression" or child_of(call, "function").id != node.id:
        return False
    name, types = text_of(node), _type_parameters(kernel)
    parameter = kernel.parameter(name)
    given = parameter is not None and parameter.type.removeprefix("const ") in types
    return name in types or (given and name not in changed_once_declared(kernel))


def _outside_subscripts(node: Node) -> list[Node]:
    """The nodes of a statement, but nothing within the subscripts."""
    if node.type in ("subscript_expression", "field_expression"):
        return [node]
    return [node, *(inner for child in node.named_children for inner in _outside_subscripts(child))]


def _role(subscript: Node, thread: str, counter: str) -> str | None:
    """`own` for `x[t]`, `partner` for `x[t + s]`; None of others."""
    name = text_of(child_of(subscript, "argument"))
    index = _tight(subscript).removeprefix(f"{name}[").removesuffix("]")
    if index == thread:
        return "own"
    return "partner" if index in (f"{thread}+{counter}", f"{counter}+{thread}") else None


def _is_written(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type in ("update_expression", "pointer_expression"):
        return True
    return parent.type == "assignment_expression" and child_of(parent, "left") == node


def _why_kept(
    array: SharedArray, thread: str, loop: _Loop, kernel: KernelSyntax, file: FileSyntax
) -> str | None:
    """Why all elements of the array have to be in LDS after the loop."""
    uses = [s for s in kernel.subscripts if s.base == array.name]
    told = {file.types.get((s.span.start, s.span.end)) for s in uses} - {None}
    if not ({array.element_type} | told) & {*SHUFFLED, *_type_parameters(kernel)}:
        return f"`{array.name}` has elements of `{array.element_type}`, which are not shuffled"
    if array.dynamic and sum(a.dynamic for a in kernel.shared) > 1:
        return f"`{array.name}` may lie over another array"
    mentions = [n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) == array.name]
    if len(mentions) != 1 + len(uses) or any(s.use == "address" for s in uses):
        return f"`{array.name}` is also used other than by its elements"
    later = (s for s in uses if s.span.start > loop.node.end_byte)
    return (
        None
        if all(_is_first(s, thread, kernel) for s in later)
        else f"more than `{array.name}[0]` is used after it"
    )


def _type_parameters(kernel: KernelSyntax) -> list[str]:
    return re.findall(r"(?:typename|class)\s+(\w+)", kernel.template_head)


def _is_first(use: Subscript, thread: str, kernel: KernelSyntax) -> bool:
    """Element 0, or the thread's own where only thread 0 is."""
    index = text_of(use.indices[0])
    if index in ("0", "0u"):
        return True
    node = kernel.body_node.descendant_for_byte_range(use.span.start, use.span.start)
    around = ancestors(node, kernel.body_node) if index == thread and node is not None else ()
    return any(
        a.type == "if_statement"
        and a.child_by_field_name("alternative") is None
        and _tight(child_of(a, "condition")) in (f"({thread}==0)", f"(0=={thread})")
        for a in around
    )


def _splices(tree: _Tree, source: bytes, style: Style) -> list[Splice]:
    """The loop's new condition, and behind it what one wave does."""
    node, condition = tree.loop.node, tree.loop.condition
    indent = indentation(source, node.start_byte)
    text = style.newline.join(["", *(indent + line if line else "" for line in _wave_lines(tree, style))])
    return [
        Splice(condition.start_byte, condition.end_byte, f"{tree.loop.counter} >= warpSize".encode()),
        Splice(node.end_byte, node.end_byte, text.encode()),
    ]


def _wave_lines(tree: _Tree, style: Style) -> list[str]:
    """The rest of the reduction; lanes beyond the half combine what nobody asks for."""
    given: list[str] = []
    for _ in tree.arrays:
        given += [numbered_name(word, style, given) for word in ("value", "other")]
    values = dict(zip((a.name for a in tree.arrays), zip(given[::2], given[1::2], strict=True), strict=True))
    offset, one, barrier = style.fresh("offset"), style.step, ["__syncthreads();"]
    lines = [
        *(barrier if not tree.barrier_last else ()),
        "// One wave has the rest: its lanes exchange values without barriers.",
        f"if ({tree.thread} < warpSize) {{",
        *(f"{one}{a.element_type} {values[a.name][0]} = {a.name}[{tree.thread}];" for a in tree.arrays),
        f"{one}for (int {offset} = warpSize / 2; {offset} > 0; {offset} /= 2) {{",
    ]
    for array in tree.arrays:
        value, other = values[array.name]
        lines.append(f"{one * 2}const {array.element_type} {other} = __shfl_down({value}, {offset});")
    lines += [one * 2 + line for line in _combined(tree, values)]
    lines.append(f"{one}}}")
    kept = " ".join(f"{a.name}[0] = {values[a.name][0]};" for a in tree.arrays)
    lines.append(f"{one}if ({tree.thread} == 0) " + (f"{{ {kept} }}" if len(tree.arrays) > 1 else kept))
    return [*lines, "}", *(barrier if tree.barrier_last else ())]


def _combined(tree: _Tree, values: dict[str, tuple[str, str]]) -> list[str]:
    """The step's statements on registers."""
    lines = []
    for statement in tree.step:
        replaced = {
            node.id: values[text_of(child_of(node, "argument"))][
                _role(node, tree.thread, tree.loop.counter) == "partner"
            ]
            for node in walk(statement)
            if node.type == "subscript_expression"
        }
        lines.append(re.sub(r"\s+", " ", renamed(statement, {}, replaced)))
    return lines
