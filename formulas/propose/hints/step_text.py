"""The text of one step of a loop: its names, the conditions around its loads, its place in the file.

Takes nodes of the loop and what stands in for its counter and its elements, gives text. Nothing is chosen here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.source.nodes import walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.propose.hints.early_loads import EarlyLoad, Guard
from hipscope.formulas.propose.rules.shared.edit_helpers import negated, renamed

_WEAK = ("conditional_expression", "binary_expression", "assignment_expression")


@dataclass
class StepNames:
    """What the names of one step are called beside the other ones: by name, and by the node of an element."""

    names: dict[str, str]
    replaced: dict[int, str] = field(default_factory=dict)

    def text(self, node: Node) -> str:
        """The node's text for this step."""
        return renamed(node, self.names, self.replaced)

    def element(self, load: EarlyLoad) -> str:
        """What is loaded, or stored to, for this step."""
        node = load.uses[0].node
        return renamed(node, self.names, {key: v for key, v in self.replaced.items() if key != node.id})

    def asked(self, guards: tuple[Guard, ...], kernel: KernelSyntax) -> str:
        """All of the conditions, in one."""
        if len(guards) == 1 and guards[0].holds:
            return self.text(guards[0].condition)
        return " && ".join(self.one_asked(guard, kernel) for guard in guards)

    def one_asked(self, guard: Guard, kernel: KernelSyntax) -> str:
        """One condition, as a part of several."""
        condition = guard.condition
        if not guard.holds and not any(n.id in self.replaced for n in walk(condition)):
            return negated(condition, kernel, self.names)
        text = self.text(condition)
        if condition.type in _WEAK:
            text = f"({text})"
        return text if guard.holds else f"!{text}"


def under(guarded: dict[str, list[str]], more: str) -> list[str]:
    """Statements below their conditions: a line where there is one, else a block."""
    lines: list[str] = []
    for asked, inside in guarded.items():
        if len(inside) == 1:
            lines.append(f"if ({asked}) {inside[0]}")
        else:
            lines += [f"if ({asked}) {{", *(more + line for line in inside), "}"]
    return lines


def deeper(text: str, more: str) -> str:
    """Text of several lines with what follows the first one moved to the right, directives in column 1 left out."""
    first, *rest = text.splitlines(keepends=True)
    return first + "".join(line if line.startswith("#") or not line.strip() else more + line for line in rest)


def multiple(factor: int | str, step: str, suffix: str = "") -> str:
    """`3LL * step`, as short as it can be written. A factor that is a name has no suffix."""
    if isinstance(factor, str):
        return factor if step == "1" else f"{factor} * {step}"
    if step.isdigit():
        return f"{factor * int(step)}{suffix}"
    return step if factor == 1 and not suffix else f"{factor}{suffix} * {step}"
