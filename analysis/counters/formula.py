"""Formulas of metrics: arithmetic over names, evaluated over numbers or whole columns.

Takes a formula and values by name, gives the result, or the names that are missing. It knows + - * / and max; nothing
in a formula is ever run as code.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Missing:
    """A formula has no value: these names have none, or (without any) it divides by zero."""

    names: frozenset[str]


def evaluate(formula: str, values: Mapping[str, Any], named: Mapping[str, str]) -> Any:
    """The value of a formula, or `Missing`.

    `values` are numbers, or columns of one length (pandas Series): then the result is a column, with NaN where a row
    divides by zero. `named` are expressions that formulas use by name. Raises ValueError for anything but arithmetic.
    """
    missing: set[str] = set()
    result = _value(_parse(formula), values, named, missing)
    if missing:
        return Missing(frozenset(missing))
    if isinstance(result, (int, float)):
        return float(result) if math.isfinite(result) else Missing(frozenset())
    return result.replace([math.inf, -math.inf], math.nan)


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


def _value(node: ast.expr, values: Mapping[str, Any], named: Mapping[str, str], missing: set[str]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name in named:
                return _value(_parse(named[name]), values, named, missing)
            if values.get(name) is None:
                missing.add(name)
                return math.nan
            return values[name]
        case ast.BinOp(left=left, op=op, right=right):
            first, second = (_value(side, values, named, missing) for side in (left, right))
            return _combine(op, first, second)
        case ast.Call(func=ast.Name(id="max"), args=[first_node, second_node]):
            first, second = (_value(side, values, named, missing) for side in (first_node, second_node))
            return first.clip(lower=second) if hasattr(first, "clip") else max(first, second)
    raise ValueError(f"not arithmetic: {ast.unparse(node)}")


def _combine(op: ast.operator, first: Any, second: Any) -> Any:
    match op:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult():
            return first * second
        case ast.Div():
            numbers = isinstance(second, (int, float))
            return math.nan if numbers and not second else first / second
    raise ValueError(f"not arithmetic: {ast.dump(op)}")
