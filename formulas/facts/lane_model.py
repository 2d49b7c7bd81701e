"""The static lane model: what addresses the 64 lanes of one wave form, worked out from the source and a launch shape.

Takes syntax nodes and launch facts, gives integer arrays (one value per lane) and from them LDS conflicts and
cache lines touched. Anything that is not plain integer arithmetic raises NotStatic: the model never guesses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tree_sitter import Node

from hipscope.analysis.source.nodes import ancestors, is_in, names_in, text_of, walk
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.emulator.devices import lds_sets
from hipscope.formulas.facts.launch_facts import LaunchFact

Lanes = NDArray[np.int64]

LINE_BYTES = 128
_RANGE = range(-(2**63), 2**63)  # what a lane's value can be here: 64-bit masks and seeds may be more


class NotStatic(Exception):
    """The expression needs something that is only known when the kernel runs."""


@dataclass(frozen=True)
class Wave:
    """The known integer values in one wave: built-ins, scalar arguments, file constants and locals, by text.

    `meanings` is what calls of the program's own helpers stand for, by the id of the call's node; `tables` are constant
    arrays of the file.
    """

    values: Mapping[str, Lanes]
    lanes: int
    meanings: Mapping[int, Node] = field(default_factory=dict)
    tables: Mapping[str, Lanes] = field(default_factory=dict)


def wave_values(
    kernel: KernelSyntax,
    launch: LaunchFact,
    constants: Mapping[str, Node],
    *,
    at: Node,
    wave: int = 0,
    wave_size: int = 64,
    first: str = "x",
) -> Wave:
    """What is known in wave `wave` of workgroup 0 just before the node `at` runs.

    `first` is the axis along which the threads of the workgroup are numbered first, as if lanes ran along it.
    Loops around `at` are taken in their first iteration. A local assigned in a branch or loop that does not hold
    `at` is unknown afterwards.
    """
    sizes = dict(zip("xyz", launch.workgroup, strict=True))
    count = min(wave_size, math.prod(launch.workgroup) - wave * wave_size)
    if count <= 0:
        raise NotStatic(f"the workgroup {launch.workgroup} has no wave {wave}")
    rest = np.arange(count, dtype=np.int64) + wave * wave_size
    values: dict[str, Lanes] = {"warpSize": _broadcast(wave_size, count)}
    for axis in (first, *(axis for axis in "xyz" if axis != first)):
        values[f"threadIdx.{axis}"], rest = rest % sizes[axis], rest // sizes[axis]
    for axis, work_items, size in zip("xyz", launch.grid, launch.workgroup, strict=True):
        values[f"blockIdx.{axis}"] = _broadcast(0, count)
        values[f"blockDim.{axis}"] = _broadcast(size, count)
        values[f"gridDim.{axis}"] = _broadcast(work_items // size, count)
    for short, long in (
        ("hipThreadIdx", "threadIdx"),
        ("hipBlockIdx", "blockIdx"),
        ("hipBlockDim", "blockDim"),
        ("hipGridDim", "gridDim"),
    ):
        values |= {f"{short}_{axis}": values[f"{long}.{axis}"] for axis in "xyz"}  # the older spelling
    values |= {name: _broadcast(value, count) for name, value in launch.scalars.items() if value in _RANGE}
    meanings = kernel.through.meanings
    tables: dict[str, Lanes] = {}
    for name, node in {**kernel.through.constants, **constants}.items():
        if node.type == "initializer_list":
            if (table := _table(node)) is not None:
                tables[name] = table
            continue
        try:
            values.setdefault(name, evaluate(node, Wave(values, count)))
        except NotStatic:
            continue
    around = {n.id for n in ancestors(at, kernel.body_node)} | {kernel.body_node.id}
    for node in walk(kernel.body_node):
        if node.start_byte >= at.start_byte:
            break
        _run_definition(node, kernel.body_node, around, Wave(values, count, meanings, tables), values)
    return Wave(values, count, meanings, tables)


def evaluate(node: Node, wave: Wave) -> Lanes:
    """The value of an integer expression in each lane. Raises NotStatic."""
    kind = node.type
    if kind == "call_expression" and (meaning := wave.meanings.get(node.id)) is not None:
        return evaluate(meaning, Wave(wave.values, wave.lanes, tables=wave.tables))
    if kind == "number_literal":
        return _broadcast(_number(text_of(node)), wave.lanes)
    if kind in ("identifier", "field_expression"):
        value = wave.values.get(text_of(node))
        if value is None:
            raise NotStatic(f"`{text_of(node)}` is not known before the kernel runs")
        return value
    if kind == "binary_expression":
        return _binary(node, wave)
    if kind in ("parenthesized_expression", "condition_clause"):
        return evaluate(node.named_children[0], wave)
    if kind == "unary_expression":
        return _unary(node, wave)
    if kind == "subscript_expression":
        return _looked_up(node, wave)
    if kind == "conditional_expression":
        chosen = [evaluate(_child(node, f), wave) for f in ("condition", "consequence", "alternative")]
        picked: Lanes = np.where(chosen[0] != 0, chosen[1], chosen[2])
        return picked
    if kind == "call_expression" and (cast := _cast(node)) is not None:
        return evaluate(cast, wave)
    if kind == "cast_expression" and text_of(_child(node, "type")).split()[-1] in _INTEGERS:
        return evaluate(_child(node, "value"), wave)
    if kind == "call_expression":
        return _call(node, wave)
    raise NotStatic(f"`{text_of(node)}` is not integer arithmetic")


def constant_number(node: Node, constants: Mapping[str, Node]) -> int | None:
    """The value of an expression of numbers and constants of the file, `MAX_LEN + 1`; None for anything else."""
    known: dict[str, Lanes] = {}
    for name in names_in(node) & set(constants):
        others = {n: value for n, value in constants.items() if n != name}
        if (number := constant_number(constants[name], others)) is not None:
            known[name] = _broadcast(number, 1)
    try:
        return int(evaluate(node, Wave(known, 1))[0])
    except NotStatic:
        return None


def lds_conflict_cycles(byte_addresses: Lanes, size: int, *, write: bool, device: str) -> int:
    """Extra LDS cycles that bank conflicts add to one wave's access of `size` bytes per lane, on a device of the table.

    The sets of lanes are those that the emulator counts by.
    """
    extra = 0
    sets = lds_sets(device, write=write, lane_bytes=size)
    for phase in sets.lanes:
        words = {
            int(word)
            for lane in phase
            if lane < len(byte_addresses)
            for word in range(int(byte_addresses[lane]) // 4, (int(byte_addresses[lane]) + size + 3) // 4)
        }
        banks = np.bincount([w % sets.banks for w in words], minlength=1)
        least = -(-len(words) // sets.banks)
        extra += max(0, int(banks.max()) - max(1, least)) if words else 0
    return extra


def lines_touched(byte_addresses: Lanes, line_bytes: int = LINE_BYTES) -> int:
    """Distinct cache lines that one wave's access touches (elements do not straddle lines)."""
    return len(np.unique(byte_addresses // line_bytes))


_INTEGERS = integers(32)


def _broadcast(value: int, count: int) -> Lanes:
    return np.full(count, value, dtype=np.int64)


def _child(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    if child is None:
        raise NotStatic(f"`{text_of(node)}` has no {name}")
    return child


def _number(text: str) -> int:
    digits = text.replace("'", "").rstrip("uUlLzZ")
    try:
        octal = digits[:1] == "0" and digits[1:].isdigit()
        value = int(digits, 8 if octal else 0)
    except ValueError as error:
        raise NotStatic(f"`{text}` is not an integer") from error
    if value not in _RANGE:
        raise NotStatic(f"`{text}` does not fit into 63 bits")
    return value


def _table(listed: Node) -> Lanes | None:
    """The numbers of `{0, 1, -1}`; None where one is no number."""
    try:
        numbers = [int(evaluate(n, Wave({}, 1))[0]) for n in listed.named_children if n.type != "comment"]
    except NotStatic:
        return None
    return np.array(numbers, dtype=np.int64)


def _looked_up(node: Node, wave: Wave) -> Lanes:
    """An element of a constant array."""
    table = wave.tables.get(text_of(_child(node, "argument")))
    indices = [c for c in _child(node, "indices").named_children if c.type != "comment"]
    if table is None or len(indices) != 1:
        raise NotStatic(f"`{text_of(node)}` is read from memory")
    index = evaluate(indices[0], wave)
    if index.min() < 0 or index.max() >= len(table):
        raise NotStatic(f"`{text_of(node)}` lies outside of its array")
    found: Lanes = table[index]
    return found


def _binary(node: Node, wave: Wave) -> Lanes:
    left = evaluate(_child(node, "left"), wave)
    right = evaluate(_child(node, "right"), wave)
    operator = text_of(_child(node, "operator"))
    if operator in ("/", "%"):
        if (right == 0).any():
            raise NotStatic(f"`{text_of(node)}` divides by zero in this launch")
        quotient: Lanes = np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
        remainder: Lanes = left - quotient * right
        return quotient if operator == "/" else remainder
    simple = _OPERATORS.get(operator)
    if simple is None:
        raise NotStatic(f"operator {operator} is not part of the lane model")
    result: Lanes = np.asarray(simple(left, right)).astype(np.int64)
    return result


_OPERATORS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<<": np.left_shift, ">>": np.right_shift, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal, "&&": np.logical_and, "||": np.logical_or,
}  # fmt: skip


def _unary(node: Node, wave: Wave) -> Lanes:
    value = evaluate(_child(node, "argument"), wave)
    operator = text_of(_child(node, "operator"))
    if operator == "!":
        negated: Lanes = (value == 0).astype(np.int64)
        return negated
    if operator in ("-", "+", "~"):
        signs: dict[str, Lanes] = {"-": -value, "+": value, "~": ~value}
        return signs[operator]
    raise NotStatic(f"operator {operator} is not part of the lane model")


def _cast(node: Node) -> Node | None:
    """The operand of `static_cast<int>(x)` and the like, or None."""
    function = node.child_by_field_name("function")
    if function is None or function.type != "template_function":
        return None
    head = text_of(function)
    target = head[head.find("<") + 1 : head.rfind(">")].split()
    arguments = [a for a in _child(node, "arguments").named_children if a.type != "comment"]
    known = head.startswith("static_cast") and bool(target) and target[-1] in _INTEGERS
    return arguments[0] if known and len(arguments) == 1 else None


def _call(node: Node, wave: Wave) -> Lanes:
    function = node.child_by_field_name("function")
    name = text_of(function) if function is not None else ""
    arguments = [a for a in _child(node, "arguments").named_children if a.type != "comment"]
    if name in ("min", "max") and len(arguments) == 2:
        pair = [evaluate(a, wave) for a in arguments]
        chosen: Lanes = np.minimum(*pair) if name == "min" else np.maximum(*pair)
        return chosen
    if name in _INTEGERS and len(arguments) == 1:
        return evaluate(arguments[0], wave)
    raise NotStatic(f"the result of `{name}` is not known before the kernel runs")


def _run_definition(node: Node, body: Node, around: set[int], wave: Wave, values: dict[str, Lanes]) -> None:
    """Update the wave's `values` by one declaration, assignment or increment in source order."""
    if node.type == "init_declarator":
        target, value, operator = (
            node.child_by_field_name("declarator"),
            node.child_by_field_name("value"),
            "=",
        )
    elif node.type == "assignment_expression":
        target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = text_of(_child(node, "operator"))
    elif node.type == "update_expression":
        target, value, operator = node.child_by_field_name("argument"), None, "++"
    else:
        return
    if target is None or target.type != "identifier":
        return
    name = text_of(target)
    conditional = any(
        a.id not in around and a.type in ("if_statement", "for_statement", "while_statement", "do_statement")
        for a in ancestors(node, body)
    )
    step = any(
        a.type == "for_statement" and is_in(node, a.child_by_field_name("update"))
        for a in ancestors(node, body)
    )
    if step:
        if conditional:
            values.pop(name, None)
        return  # the loop around `at`: its first iteration is meant
    try:
        if conditional or value is None or operator != "=":
            raise NotStatic(name)
        values[name] = evaluate(value, wave)
    except NotStatic:
        values.pop(name, None)
