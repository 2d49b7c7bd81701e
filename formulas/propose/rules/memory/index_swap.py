"""memoryAccess: accesses are strided along x and contiguous along y or z. Let the lanes run along that instead.

Each thread takes over the work of another thread of its workgroup, so the workgroup does exactly the same work.
"""

from __future__ import annotations

from collections.abc import Iterable

from hipscope.analysis.source.nodes import LOOPS, ancestors, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import at_start, style_of
from hipscope.formulas.propose.rules.shared.thread_renumbering import Access, read_shape, unseen
from hipscope.formulas.propose.splice import Splice

NAME = "index_swap"
_TITLE = "Let neighbouring lanes work along the direction in which memory is contiguous"

_THREAD = frozenset(f"{name}{axis}" for name in ("threadIdx.", "hipThreadIdx_") for axis in "xyz")


@rewrite("index_swap", "Memory", "memoryAccess", rank=22)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Lanes run along the axis that is contiguous in memory.

    Needs: threads that do not work together.
    For: gpu-burn of HIP-Examples.
    """
    file, shapes = parse(source), {}
    for axis in _axes(facts):
        shape = read_shape(kernel, file, facts, first=axis)
        if isinstance(shape, str):
            return shape
        shapes[axis] = shape
    if (advice := unseen(NAME, _TITLE, kernel)) is not None:
        return advice
    axis = min(shapes, key=lambda a: sum(access.exchanged for access in shapes[a].accesses))
    accesses = shapes[axis].accesses
    if not any(a.helps for a in accesses):
        return f"no access would touch fewer cache lines {_exchanged(shapes)}"
    often = [a for a in accesses if _loops(a, kernel) >= _most_loops(accesses, kernel)]
    worse = next((a for a in often if a.exchanged > a.lines), None)
    if worse is not None and 2 * sum(a.exchanged for a in often) > sum(a.lines for a in often):
        return f"`{text_of(worse.subscript.node)}` would touch more cache lines than now"
    flat = shapes[axis].launch.workgroup[2] == 1
    before, after = max(a.lines for a in often), max(a.exchanged for a in often)
    return edited(
        source,
        _renumbered(source, kernel, axis, flat=flat),
        title=f"Let neighbouring lanes work along {axis}",
        expected=(
            f"The worst access of a wave touches {after} cache lines instead of {before}; results stay the "
            "same bit for bit."
        ),
    )


def _exchanged(axes: Iterable[str]) -> str:
    """What was tried, as the end of a sentence."""
    others = " or ".join(axes)
    return f"with x and {others} of the threads exchanged"


def _axes(facts: LaunchFacts) -> tuple[str, ...]:
    """The axes that lanes could run along instead of x."""
    sizes = [launch.workgroup for launch in facts.launches]
    if all(z == 1 for _, _, z in sizes):
        return ("y",)
    return tuple(axis for axis, place in (("y", 1), ("z", 2)) if all(size[place] > 1 for size in sizes)) or (
        "y",
    )


def _renumbered(source: bytes, kernel: KernelSyntax, axis: str, *, flat: bool) -> list[Splice]:
    """Declarations of each thread's new number, and the uses of the old one. `flat`: no workgroup is deep."""
    style = style_of(source, kernel)
    lane, names = style.fresh("thread_in_block"), {a: style.fresh(f"thread_{a}") for a in "xyz"}
    texts = [f"// Lanes run along {axis}, the direction in which memory is contiguous."]
    if flat:
        texts += [
            f"const unsigned {lane} = threadIdx.x + blockDim.x * threadIdx.y;",
            f"const unsigned {names['x']} = {lane} / blockDim.y;",
            f"const unsigned {names['y']} = {lane} % blockDim.y;",
        ]
    else:
        next_axis, last = (a for a in "xyz" if a != axis)
        place = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
        texts += [
            f"const unsigned {lane} = {place};",
            f"const unsigned {names[axis]} = {lane} % blockDim.{axis};",
            f"const unsigned {names[next_axis]} = {lane} / blockDim.{axis} % blockDim.{next_axis};",
            f"const unsigned {names[last]} = {lane} / (blockDim.{axis} * blockDim.{next_axis});",
        ]
    splices = [at_start(source, kernel, style, style.lines(texts))]
    for node in walk(kernel.body_node):
        text = text_of(node)
        if (
            node.type in ("field_expression", "identifier")
            and text in _THREAD
            and not (flat and text[-1] == "z")
        ):
            splices.append(Splice(node.start_byte, node.end_byte, names[text[-1]].encode()))
    return splices


def _most_loops(accesses: Iterable[Access], kernel: KernelSyntax) -> int:
    """The most loops around an access that gains."""
    return max(_loops(a, kernel) for a in accesses if a.helps)


def _loops(access: Access, kernel: KernelSyntax) -> int:
    return sum(node.type in LOOPS for node in ancestors(access.subscript.node, kernel.body_node))
