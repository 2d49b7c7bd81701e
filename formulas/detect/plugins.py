"""Formulas of other packages: the entry points of the group `hipscope.formulas`.

Takes what is installed, gives formulas that look right, and one warning for each that does not. A broken package never
breaks a profile.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Collection, Iterator
from functools import cache

from hipscope.analysis.config import FORMULA_GROUP
from hipscope.formulas.base import Formula

_TEXTS = ("name", "title")
_LISTS = ("objectives", "remedy", "needs")


@cache
def outside_formulas(taken: tuple[str, ...]) -> tuple[Formula, ...]:
    """The formulas that other packages bring, looked up once; `taken` are names that they must not use."""
    found: dict[str, Formula] = {}
    for entry in sorted(importlib.metadata.entry_points(group=FORMULA_GROUP), key=lambda e: e.name):
        try:
            formula = entry.load()()
            reason = _wrong(formula, entry.name, {*taken, *found})
        except Exception as error:  # any exception of a plug-in module's import
            reason = f"{type(error).__name__}: {error}"
        if reason is not None:
            warn(f"the formula {entry.name} ({entry.value}) is left out: {reason}")
            continue
        found[entry.name] = formula
    return tuple(found.values())


@cache
def warn(message: str) -> None:
    """Say something on standard error, once per process."""
    sys.stderr.write(f"hipscope: warning: {message}\n")


def _wrong(formula: object, name: str, taken: Collection[str]) -> str | None:
    """The first thing that keeps it from being used, or None."""
    return next(_faults(formula, name, taken), None)


def _faults(formula: object, name: str, taken: Collection[str]) -> Iterator[str]:
    if not isinstance(formula, Formula):
        yield "it is not a subclass of hipscope.formulas.base.Formula"
        return
    for text in _TEXTS:
        if not isinstance(getattr(formula, text, None), str):
            yield f"`{text}` must be a text"
    for several in _LISTS:
        if not isinstance(getattr(formula, several, None), tuple | list):
            yield f"`{several}` must be a tuple"
    if formula.name != name:
        yield f"its name is {formula.name!r}, and its entry point must have the same"
    if name in taken:
        yield "there is another formula of that name"
