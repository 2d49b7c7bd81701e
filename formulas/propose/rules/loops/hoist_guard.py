"""A condition that stays the same in every step of a loop is asked once, before the loop.

A compiler does that where all lanes of a wave agree; where they do not, each lane that has nothing to do goes through
all steps of the loop, and asks in each. Only loops that hold nothing but the guarded statement, so nothing else happens
otherwise: results stay the same bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import (
    BARRIERS,
    bare,
    built_in,
    called,
    child_of,
    condition_of,
    joins,
    names_in,
    takes_address,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import is_plain
from hipscope.formulas.propose.rules.shared.edit_helpers import Style, indentation, line_start, style_of
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_before
from hipscope.formulas.propose.splice import Splice, apply_splices

_IGNORED = frozenset({"comment", "preproc_call"})
_TRAPS = frozenset({"/", "%"})


@dataclass(frozen=True)
class _Guarded:
    """A nest of loops around one `if`: its outermost loop, what goes before that, and what is left inside."""

    loop: Node
    inner: Node
    hoisted: tuple[Node, ...]
    left: tuple[Node, ...]


@rewrite("hoist_guard", "Loops and branches", anywhere=True)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """Asks a condition that stays the same before the loops around it.

    Needs: the loops hold nothing else; plain integers and floats of the thread that nothing in the loops changes.
    For: HeCBench asmooth.
    """
    found: list[_Guarded] = []
    reasons: list[str] = []
    end = 0
    for node in walk(kernel.body_node):
        if node.type != "for_statement" or node.start_byte < end:
            continue
        guarded = _guarded(node, kernel)
        if isinstance(guarded, _Guarded):
            found.append(guarded)
            end = node.end_byte
        else:
            reasons.append(f"the loop on line {node.start_point.row + 1} {guarded}")
    if not found:
        return "; ".join(reasons) or "the kernel has no `for` loop"
    style = style_of(source, kernel)
    lines = ", ".join(str(g.loop.start_point.row + 1) for g in found)
    return edited(
        source,
        [_splice(source, style, g) for g in found],
        title=f"Ask what stays the same once, before the loop (line {lines})",
        expected="Lanes without work leave out the loop; results stay the same bit for bit.",
    )


def _guarded(loop: Node, kernel: KernelSyntax) -> _Guarded | str:
    """What of a nest of loops can be asked before it; else why nothing, as the end of a sentence."""
    if loop.parent is None or loop.parent.type != "compound_statement":
        return "is not a statement of a block"
    inner = loop
    while inner.type == "for_statement":
        if not _counts(inner):
            return "changes something else than a counter of its own in its head"
        only = _only_statement(child_of(inner, "body"))
        if only is None or only.type not in ("for_statement", "if_statement"):
            return "holds more than one guarded statement"
        inner = only
    if inner.child_by_field_name("alternative") is not None or any(
        c.type == "constexpr" for c in inner.children
    ):
        return "holds an `if` with an `else`"
    for node in walk(loop):
        if (called(node) or "") in BARRIERS or node.type in ("lambda_expression", "labeled_statement"):
            return "holds a barrier, a label or a lambda"
    asked = condition_of(inner)
    if asked is None:
        return "declares something in its condition"
    parts = _conjuncts(asked)
    changed = changed_names(loop)
    hoisted = tuple(part for part in parts if _stays(part, changed, kernel))
    if not hoisted:
        return "asks for nothing that certainly stays the same in all its steps"
    return _Guarded(loop, inner, hoisted, tuple(part for part in parts if part not in hoisted))


def _counts(loop: Node) -> bool:
    """Whether the loop's head declares its counter, and does nothing but count."""
    counted = counted_loop(loop)
    if isinstance(counted, str) or not counted.type or counted.further:
        return False
    head = (counted.first, counted.bound, counted.amount)
    return not any(n.type == "call_expression" for part in head if part is not None for n in walk(part))


def _only_statement(body: Node) -> Node | None:
    """The one statement of a loop's body; None when there are more, or none."""
    if body.type != "compound_statement":
        return body
    found = [child for child in body.named_children if child.type not in _IGNORED]
    return found[0] if len(found) == 1 else None


def _conjuncts(condition: Node) -> list[Node]:
    """The parts of `a && b && c`."""
    condition = bare(condition)
    if joins(condition, "&&"):
        return [part for side in ("left", "right") for part in _conjuncts(child_of(condition, side))]
    return [condition]


def _stays(part: Node, changed: frozenset[str], kernel: KernelSyntax) -> bool:
    """Whether a part of a condition has one value in all steps, and does nothing and cannot fail when it is asked."""
    if not is_plain(part) or any(n.type in _TRAPS for n in walk(part)):
        return False
    return not names_in(part) & changed and all(_is_value(name, kernel) for name in names_in(part))


def _is_value(name: str, kernel: KernelSyntax) -> bool:
    """Whether a name is a number of this thread alone: no place in memory that others, or a pointer, may change."""
    if name in ("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize") or built_in(name) is not None:
        return True
    parameter = kernel.parameter(name)
    if parameter is not None:
        return not parameter.pointer and "&" not in parameter.type and not _address_taken(name, kernel)
    declared = [d for d in walk(kernel.body_node) if d.type == "declaration" and _declares(d, name)]
    if not declared or any(
        text_of(c) in ("volatile", "__shared__", "static") for d in declared for c in d.children
    ):
        return False
    return name not in {a.name for a in kernel.shared} and not _address_taken(name, kernel)


def _declares(declaration: Node, name: str) -> bool:
    """Whether it declares a variable of that name: no reference, pointer or array."""
    for declarator in declaration.children_by_field_name("declarator"):
        inner = declarator
        if declarator.type == "init_declarator":
            inner = child_of(declarator, "declarator")
        if inner.type == "identifier" and text_of(inner) == name:
            return True
    return False


def _address_taken(name: str, kernel: KernelSyntax) -> bool:
    """Whether something may change it under another name."""
    for node in walk(kernel.body_node):
        if takes_address(node):
            target = child_of(node, "argument")
            while target.type == "subscript_expression":
                target = child_of(target, "argument")
            if name in names_in(target):
                return True
        if node.type in ("reference_declarator", "lambda_expression") and name in names_in(
            node.parent or node
        ):
            return True
    return False


def _splice(source: bytes, style: Style, guarded: _Guarded) -> Splice:
    """The whole nest, one step further in, behind what is asked before it."""
    loop, inner = guarded.loop, guarded.inner
    pragma = pragma_before(loop)
    outer = indentation(source, line_start(source, loop.start_byte))
    start = loop.start_byte if pragma is None else line_start(source, pragma.start_byte)
    consequence = child_of(inner, "consequence")
    if guarded.left:
        condition = child_of(inner, "condition")
        removed = [Splice(condition.start_byte, condition.end_byte, f"({_joined(guarded.left)})".encode())]
    else:
        removed = _unwrapped(inner, consequence)
    inside = apply_splices(
        source[start : loop.end_byte], [Splice(s.start - start, s.end - start, s.text) for s in removed]
    ).decode("utf-8", "surrogateescape")
    texts = inside.splitlines()
    if pragma is None:
        texts[0] = outer + texts[0]
    shifted = [style.step + line if line.strip() and not line.startswith("#") else line for line in texts]
    lines = [f"{outer}if ({_joined(guarded.hoisted)}) {{", *shifted, outer + "}"]
    if pragma is None:
        lines[0] = lines[0].removeprefix(outer)
    return Splice(start, loop.end_byte, style.newline.join(lines).encode("utf-8", "surrogateescape"))


def _unwrapped(inner: Node, consequence: Node) -> list[Splice]:
    """What is taken out so that the guarded statement alone is left; a block in a block becomes one."""
    block = inner.parent
    alone = block is not None and block.type == "compound_statement" and len(block.named_children) == 1
    if block is not None and alone and consequence.type == "compound_statement":
        return [
            Splice(block.start_byte, consequence.start_byte, b""),
            Splice(consequence.end_byte, block.end_byte, b""),
        ]
    return [Splice(inner.start_byte, consequence.start_byte, b"")]


def _joined(parts: tuple[Node, ...]) -> str:
    if len(parts) == 1:
        text = text_of(parts[0])
        return text[1:-1] if parts[0].type == "parenthesized_expression" else text
    return " && ".join(_closed(part) for part in parts)


def _closed(part: Node) -> str:
    """A part that binds no weaker than `&&`."""
    weak = part.type == "conditional_expression" or (joins(part, "||"))
    return f"({text_of(part)})" if weak else text_of(part)
