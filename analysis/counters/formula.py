"""Formulas of metrics: arithmetic over names, evaluated over numbers.

Takes a formula and values by name, gives the result, or the names that are missing. It knows + - * / and max; nothing
in a formula is ever run as code.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """A formula has no value: these names have none, or (without any) it divides by zero."""

    names: frozenset[str]


def evaluate(formula: str, values: Mapping[str, float | None], named: Mapping[str, str]) -> float | Missing:
    """The value of a formula, or `Missing`.

    `named` are expressions that formulas use by name. Raises ValueError for anything but arithmetic.
    """
    missing: set[str] = set()
    result = _value(_parse(formula), values, named, missing)
    if missing or not math.isfinite(result):
        return Missing(frozenset(missing))
    return float(result)


def names_in(formula: str, named: Mapping[str, str]) -> frozenset[str]:
    """The counters and facts of the device that a formula needs, those of named expressions included."""
    found: set[str] = set()
    for node in ast.walk(_parse(formula)):
        if isinstance(node, ast.Name) and node.id != "max":
            found |= names_in(named[node.id], named) if node.id in named else {node.id}
    return frozenset(found)


@functools.cache
def _parse(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _value(
    node: ast.expr, values: Mapping[str, float | None], named: Mapping[str, str], missing: set[str]
) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name in named:
                return _value(_parse(named[name]), values, named, missing)
            if (value := values.get(name)) is None:
                missing.add(name)
                return math.nan
            return value
        case ast.BinOp(left=left, op=op, right=right):
            first, second = (_value(side, values, named, missing) for side in (left, right))
            return _combine(op, first, second)
        case ast.Call(func=ast.Name(id="max"), args=[first_node, second_node]):
            first, second = (_value(side, values, named, missing) for side in (first_node, second_node))
            return max(first, second)
    raise ValueError(f"not arithmetic: {ast.unparse(node)}")


def _combine(op: ast.operator, first: float, second: float) -> float:
    match op:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult():
            return first * second
        case ast.Div():
            return first / second if second else math.nan
    raise ValueError(f"not arithmetic: {ast.dump(op)}")
