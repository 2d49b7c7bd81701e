"""How a kernel numbers its work-items along x, and the text in which several lanes have one number.

`blockIdx.x * blockDim.x + threadIdx.x` becomes `blockIdx.x * (blockDim.x / lanes) + threadIdx.x / lanes`, and steps of
`gridDim.x * blockDim.x` likewise. Any other use of these numbers refuses.
"""

from __future__ import annotations

from tree_sitter import Node

from hipscope.analysis.kernel.effects import reassigned_names
from hipscope.analysis.source.nodes import bare, built_in, child_of, declarations_in, text_of, walk
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.propose.splice import Splice

_NUMBERED = frozenset({"threadIdx.x", "blockIdx.x", "blockDim.x", "gridDim.x"})
_ASKS = (
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "hipThreadIdx",
    "hipBlockIdx",
    "hipBlockDim",
    "hipGridDim",
    "__lane_id",
)


def shared_items(kernel: KernelSyntax, file: FileSyntax, workgroup: int, lanes: str) -> list[Splice] | str:
    """The edits that give `lanes` neighbouring lanes the number of one work-item, or why that cannot be done.

    `workgroup` is how many work-items a workgroup has along x: a constant of that size stands for `blockDim.x`.
    """
    asked = sorted(name for name in _ASKS if name in kernel.through.built_ins)
    if asked:
        return f"`{kernel.through.built_ins[asked[0]]}`, which it uses, asks for `{asked[0]}` itself"
    names = _names(kernel)
    size = {name for name, value in file.constants.items() if text_of(value) == str(workgroup)} | {
        str(workgroup)
    }
    splices: list[Splice] = []
    known: set[int] = {value.id for _, value in names.values()}
    numbers = 0
    for node in walk(kernel.body_node):
        if node.type != "binary_expression":
            continue
        text = _item(node, names, size, lanes) or _stride(node, names, size, lanes)
        if text is None:
            continue
        numbers += text_of(child_of(node, "operator")) == "+"
        splices.append(Splice(node.start_byte, node.end_byte, text.encode("utf-8", "surrogateescape")))
        known |= {n.id for n in walk(node)}
    if not numbers:
        return "it does not number its work-items by `blockIdx.x * blockDim.x + threadIdx.x`"
    for node in walk(kernel.body_node):
        meant = _meant(node, names)
        if meant in _NUMBERED and node.id not in known and not _declares(node):
            return f"line {node.start_point.row + 1} uses `{text_of(node)}` otherwise"
    return splices


def _names(kernel: KernelSyntax) -> dict[str, tuple[str, Node]]:
    """Variables that only give a number such as `threadIdx.x` another name, with the node that they are set to."""
    changed = reassigned_names(kernel.body_node)
    found: dict[str, tuple[str, Node]] = {}
    seen: set[str] = {p.name for p in kernel.parameters}
    for name, declarator, _ in declarations_in(kernel.body_node):
        value = declarator.child_by_field_name("value")
        meant = built_in(text_of(value)) if value is not None else None
        if name in seen:
            found.pop(name, None)
        elif value is not None and meant in _NUMBERED and name not in changed:
            found[name] = (meant or "", value)
        seen.add(name)
    return found


def _meant(node: Node, names: dict[str, tuple[str, Node]]) -> str | None:
    """`threadIdx.x` where the node is that, or a name of it."""
    if node.type == "identifier" and text_of(node) in names:
        return names[text_of(node)][0]
    return built_in(text_of(node)) if node.type in ("field_expression", "identifier") else None


def _declares(node: Node) -> bool:
    outer = node.parent
    return (
        outer is not None and outer.type == "init_declarator" and child_of(outer, "declarator").id == node.id
    )


def _product(
    node: Node, names: dict[str, tuple[str, Node]], first: str, size: set[str]
) -> tuple[Node, Node] | None:
    """`first` and the size of a workgroup, where the node is their product."""
    node = bare(node)
    if node.type != "binary_expression" or text_of(child_of(node, "operator")) != "*":
        return None
    left, right = bare(child_of(node, "left")), bare(child_of(node, "right"))
    for one, other in ((left, right), (right, left)):
        if _meant(one, names) == first and (_meant(other, names) == "blockDim.x" or text_of(other) in size):
            return one, other
    return None


def _item(node: Node, names: dict[str, tuple[str, Node]], size: set[str], lanes: str) -> str | None:
    """The number of a work-item, for all of its lanes."""
    if text_of(child_of(node, "operator")) != "+":
        return None
    left, right = child_of(node, "left"), child_of(node, "right")
    for product, thread in ((left, right), (right, left)):
        factors = _product(product, names, "blockIdx.x", size)
        if factors is not None and _meant(bare(thread), names) == "threadIdx.x":
            block, dim = (text_of(f) for f in factors)
            return f"{block} * ({dim} / {lanes}) + {text_of(bare(thread))} / {lanes}"
    return None


def _stride(node: Node, names: dict[str, tuple[str, Node]], size: set[str], lanes: str) -> str | None:
    """The number of work-items of a launch."""
    factors = _product(node, names, "gridDim.x", size)
    if factors is None:
        return None
    groups, dim = (text_of(f) for f in factors)
    return f"{groups} * ({dim} / {lanes})"
