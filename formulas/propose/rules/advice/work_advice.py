"""What hipscope sees but does not do: advice, with the reason why it is not proposed as a rewrite."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tree_sitter import Node

from hipscope.analysis.source.nodes import LOOPS, ancestors, child_of, names_in, squeeze, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.launch_config import BUSY, LANES, ROUNDS, SIMDS
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Answer
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.tables import THRESHOLDS


@rewrite("launch_shape", "Advice", "launchConfig", advice=True, searched=True, rank=61)
def launch_shape(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None
) -> Answer:
    """Says how many workgroups of which size a launch could have."""
    shapes = ", ".join(
        f"{math.prod(launch.grid) // max(1, math.prod(launch.workgroup))} of {math.prod(launch.workgroup)} threads"
        for launch in facts.launches[:2]
    )
    seen = f" (seen: {shapes})" if shapes else ""
    return Advice(
        "launch_shape",
        f"Launch `{kernel.name}` {_better_shape(finding, facts)}{seen}",
        "no number of the program's text that it comes from was verified to do so",
    )


def _better_shape(finding: Finding | None, facts: LaunchFacts) -> str:
    """What the launch lacks, from the finding's numbers."""
    shown = {e.metric: e for e in finding.evidence} if finding is not None else {}
    parts = {
        name: shown[metric].value / 100
        for name, metric in (("cus", BUSY), ("simds", SIMDS), ("lanes", LANES))
        if metric in shown
    }
    rounds = shown.get(ROUNDS)
    if rounds is not None and rounds.ideal and rounds.value > 1:
        parts["tail"] = rounds.value / rounds.ideal
    worst = min(parts, key=lambda name: parts[name], default="cus")
    threads = max((math.prod(launch.workgroup) for launch in facts.launches), default=0)
    if parts.get("cus", 1.0) <= THRESHOLDS["launchConfig.busy"] or worst == "cus":
        # Smaller workgroups only bring more of them as long as each still fills a wave.
        can_split = not threads or threads * parts.get("cus", 1.0) >= facts.wave_size
        how = "more, smaller workgroups" if can_split else "more workgroups, each with less of the work"
        return f"with {how}, several for each CU"
    return {
        "simds": f"with larger workgroups, up to {4 * facts.wave_size} threads and more, so that each SIMD has a wave",
        "lanes": f"with workgroups of a multiple of {facts.wave_size} threads",
        "tail": "with a number of workgroups that fills its last round, or let a fixed number loop over the data",
    }[worst]


@rewrite("regroup_work", "Advice", "branchDivergence", advice=True, searched=True, rank=60)
def regroup_work(
    source: bytes, kernel: KernelSyntax, facts: LaunchFacts, finding: Finding | None = None
) -> Answer:
    """Says which work of a branch could be done by other lanes."""
    condition = _condition_at(kernel, finding.line) if finding is not None else None
    if finding is not None and condition is not None:
        asked = squeeze(text_of(condition))
        asked = asked[1:-1] if condition.type == "condition_clause" else asked
        threads = max((math.prod(launch.workgroup) for launch in facts.launches), default=0)
        if _ONE_THREAD.fullmatch(asked.replace(" ", "")) is None or threads <= 1:
            return f"`{asked}` follows from the thread's number, not from data"
        return Advice(
            "share_one_thread",
            f"Let all {threads} threads of a workgroup take part in what `{asked}` leaves to one "
            f"(line {finding.line})",
            "but for sums and searches in LDS, no recipe knows how the steps of that thread could be shared",
        )
    return Advice(
        "regroup_work",
        f"Sort or bin the elements of `{kernel.name}` by the way they take, so that a wave goes one way",
        "which way an element takes is known only at run time, so no renumbering of the threads can be proved to help",
    )


_ONE_THREAD = re.compile(r"[\w.]+==\d+|!(threadIdx\.x|tid)")


def _condition_at(kernel: KernelSyntax, line: int) -> Node | None:
    """The branch around a line by which the thread's number decides, else a loop; None where data may decide before."""
    row, loop = line - 1, None
    around = [
        n for n in walk(kernel.body_node) if n.type in _ASKING and n.start_point.row <= row <= n.end_point.row
    ]
    for node in reversed(around):
        asked = [p for f in ("initializer", "condition") if (p := node.child_by_field_name(f)) is not None]
        if asked and all(_one_for_all(part, kernel) for part in asked):
            continue
        if not asked or any(_by_data(part, kernel, frozenset()) for part in asked):
            return None
        if node.type == "if_statement":
            return asked[-1]
        loop = loop or asked[-1]
    return loop


_ASKING = ("if_statement", *LOOPS)


def _one_for_all(node: Node, kernel: KernelSyntax) -> bool:
    """Whether all threads come to one answer that memory gives: each reads the same element (`removed[i / 64]`)."""
    given = list(_given(kernel))
    values = [node]
    for name in names_in(node):
        once = [value for target, value in given if target == name]
        if len(once) == 1 and once[0].parent is not None and once[0].parent.type == "init_declarator":
            values += once
        elif name in kernel.thread_dependent:
            return False
    if any(n.type in ("pointer_expression", "call_expression") for v in values for n in walk(v)):
        return False
    elements = [n for v in values for n in walk(v) if n.type == "subscript_expression"]
    bases = frozenset[str]().union(*(names_in(child_of(e, "argument")) for e in elements))
    inside = frozenset[str]().union(*(names_in(v) for v in values[1:]), *(names_in(e) for e in elements))
    return bool(elements) and not (inside - bases) & (kernel.thread_dependent | {"threadIdx"})


def _by_data(node: Node, kernel: KernelSyntax, followed: frozenset[str]) -> bool:
    """Whether memory goes into an expression, or what cannot be seen through."""
    if any(n.type in ("subscript_expression", "pointer_expression", "call_expression") for n in walk(node)):
        return True
    if "->" in text_of(node):
        return True
    for name in names_in(node) - followed:
        for target, value in _given(kernel):
            if target == name and _by_data(value, kernel, followed | {name}):
                return True
    return False


def _given(kernel: KernelSyntax) -> Iterator[tuple[str, Node]]:
    """What the kernel's variables are given, by name, and the conditions under which they are given something else."""
    for node in walk(kernel.body_node):
        if node.type == "init_declarator":
            yield text_of(child_of(node, "declarator")), child_of(node, "value")
        elif node.type == "assignment_expression":
            name = text_of(child_of(node, "left"))
            yield name, child_of(node, "right")
            if node.parent is None or node.parent.type != "expression_statement":
                continue  # a loop's own step
            for outer in ancestors(node, kernel.body_node):
                if outer.type == "if_statement":
                    yield name, child_of(outer, "condition")
