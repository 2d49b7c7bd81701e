"""How large integer expressions of a kernel can become: intervals, from the syntax tree and the recorded launches.

Takes expressions, gives (lowest, highest) or None for what is not known. Parameters count with the values that the
recorded launches passed; which of them were used is told, because other launches may pass others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_once_declared, unsteady_names
from hipscope.analysis.kernel.loops import counted_loop
from hipscope.analysis.source.nodes import (
    arguments_of,
    built_in,
    called,
    child_of,
    initialized,
    text_of,
)
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.rules.ranges.intervals import Range, either, without_overflow


@dataclass
class Ranges:
    """The intervals of one kernel. `used` collects the parameters whose recorded values an answer relies on, `shapes`
    the sizes and places of launches (`blockDim.x`) that it does.
    """

    kernel: KernelSyntax
    file: FileSyntax
    facts: LaunchFacts
    used: set[str] = field(default_factory=set)
    shapes: set[str] = field(default_factory=set)
    _changed: set[str] = field(init=False)
    _open: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Remember what the kernel changes."""
        self._changed = set(changed_once_declared(self.kernel) | unsteady_names(self.kernel))

    def of(self, node: Node) -> Range | None:
        """The interval of an integer expression, computed without overflow; None when it is not known."""
        kind = node.type
        if kind in ("parenthesized_expression", "condition_clause"):
            return self.of(node.named_children[0])
        if kind == "number_literal":
            try:
                value = int(evaluate(node, Wave({}, 1))[0])
            except NotStatic:
                return None
            return value, value
        if kind == "field_expression":
            return self._built_in(text_of(node)) or self._recorded(text_of(node))
        if kind == "identifier":
            return self._built_in(text_of(node)) or self._name(text_of(node))
        if kind == "binary_expression":
            return self._binary(node)
        if kind == "cast_expression":
            return self.of(child_of(node, "value"))
        if kind == "conditional_expression":
            return either(*(self.of(child_of(node, side)) for side in ("consequence", "alternative")))
        if kind == "call_expression" and called(node) in ("min", "max"):
            sides = [self.of(a) for a in arguments_of(node)]
            known = [s for s in sides if s is not None]
            if len(known) != len(sides) or not known:
                return None
            choose = min if called(node) == "min" else max
            return choose(s[0] for s in known), choose(s[1] for s in known)
        if kind == "call_expression" and text_of(child_of(node, "function")).startswith("static_cast"):
            return self.of(arguments_of(node)[0]) if len(arguments_of(node)) == 1 else None
        return None

    def _built_in(self, text: str) -> Range | None:
        place = built_in(text)
        if place is None or not self.facts.launches:
            return None
        base, _, axis = place.partition(".")
        number = "xyz".index(axis)
        blocks = [launch.workgroup[number] for launch in self.facts.launches]
        groups = [launch.grid[number] // launch.workgroup[number] for launch in self.facts.launches]
        found: dict[str, Range] = {
            "threadIdx": (0, max(blocks) - 1),
            "blockDim": (min(blocks), max(blocks)),
            "blockIdx": (0, max(groups) - 1),
            "gridDim": (min(groups), max(groups)),
        }
        if base in found:
            self.shapes.add(text)
        return found.get(base)

    def _name(self, name: str) -> Range | None:
        parameter = self.kernel.parameter(name)
        if parameter is not None:
            return None if parameter.pointer else self._recorded(name)
        if name in self._open:
            return None
        self._open.add(name)
        try:
            return self._local(name)
        finally:
            self._open.discard(name)

    def _recorded(self, name: str) -> Range | None:
        """Of a parameter, or a member of one (`grid.nx`), that stays as it is."""
        values = [launch.scalars[name] for launch in self.facts.launches if name in launch.scalars]
        if name.partition(".")[0] in self._changed or len(values) != len(self.facts.launches) or not values:
            return None
        self.used.add(name)
        return min(values), max(values)

    def _local(self, name: str) -> Range | None:
        declared = initialized(name, self.kernel.body_node)
        if not declared:
            value = self.file.constants.get(name)
            return self.of(value) if value is not None else None
        if len(declared) != 1:
            return None
        start = declared[0].child_by_field_name("value")
        first = self.of(start) if start is not None else None
        if first is None or name not in self._changed:
            return first
        return self._counter(name, declared[0], first)

    def _counter(self, name: str, declared: Node, first: Range) -> Range | None:
        """A `for` counter that only grows, up to what the loop's condition allows."""
        around = declared.parent.parent if declared.parent is not None else None
        if around is None or around.type != "for_statement":
            return None
        loop = counted_loop(around)
        if isinstance(loop, str) or loop.variable != name or not loop.below or loop.bound is None:
            return None
        step = None if loop.amount is None else self.of(loop.amount)
        last = self.of(loop.bound)
        if last is None or (loop.amount is not None and (step is None or step[0] < 0)):
            return None
        return first[0], max(first[1], last[1] - (loop.comparison == "<"))

    def _binary(self, node: Node) -> Range | None:
        left, right = self.of(child_of(node, "left")), self.of(child_of(node, "right"))
        operator = text_of(child_of(node, "operator"))
        if left is None or right is None:
            return None
        return without_overflow(operator, left, right)
