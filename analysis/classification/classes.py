"""The class of a kernel or a run from its measures, by the table in classes.toml.

Takes measures by name, gives the class, those that are as likely within the noise of the inputs, and why.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_TABLE = Path(__file__).with_name("classes.toml")
UNKNOWN = "unknown"
Subject = Literal["kernel", "run"]
_KNOWN = "known"  # a measure that says whether there are any


@dataclass(frozen=True)
class Condition:
    """One comparison of a measure; what is not known fulfils none. `kind` is one of the keys that
    the head of the table explains; `limit` is a number, `other` a measure."""

    measure: str
    kind: str
    limit: float = 0.0
    other: str = ""

    def holds(self, measures: Mapping[str, float], noise: float) -> tuple[bool, bool]:
        """Whether it can hold, and whether it must, when every measure may be off by that part of it."""
        value = measures.get(self.measure)
        if value is None:
            return False, False
        low, high = _range(self.measure, value, noise)
        if self.kind == "not_below":
            least, most = _range(self.other, measures.get(self.other, 0.0), noise)
            return high >= least, low >= most
        if self.kind == "at_least":
            return high >= self.limit, low >= self.limit
        if self.kind == "at_most":
            return low <= self.limit, high <= self.limit
        return low < self.limit, high < self.limit


@dataclass(frozen=True)
class ClassRow:
    """One row. `model`: the emulator's verdicts that it is for; `everyone`: it is for each of them and for none."""

    of: Subject
    name: str
    conditions: tuple[Condition, ...]
    model: frozenset[str]
    everyone: bool
    source: str


@dataclass(frozen=True)
class Classified:
    """The class, the others that it may be within the noise of the inputs, and the numbers that decided."""

    name: str
    near: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class ClassTable:
    """All rows in their order, and how each measure is told."""

    rows: tuple[ClassRow, ...]
    words: Mapping[str, str]
    noise: float

    def classify(
        self,
        of: Subject,
        measures: Mapping[str, float],
        *,
        model: str | None = None,
        exact: bool = False,
        told: Mapping[str, str] | None = None,
    ) -> Classified:
        """The class of these measures, by the emulator's verdict where `model` is one. `told` fills the words.

        `exact`: the measures have no noise.
        """
        rows = [row for row in self.rows if row.of == of and (row.everyone or model in row.model)]
        if not any(not row.everyone for row in rows):
            rows = [row for row in self.rows if row.of == of and (row.everyone or not row.model)]
        chosen = next((row for row in rows if _holds(row, measures, 0.0)[1]), None)
        possible = dict.fromkeys(_possible(rows, measures, 0.0 if exact else self.noise))
        name = chosen.name if chosen is not None else UNKNOWN
        why = "" if chosen is None else self._why(chosen, measures, told or {})
        return Classified(name, tuple(other for other in possible if other != name), why)

    def threshold(self, measure: str) -> float:
        """From which value of a measure of kernels on the class is that of its row."""
        conditions = (c for row in self.rows if row.of == "kernel" for c in row.conditions)
        return next(c.limit for c in conditions if c.measure == measure and c.kind == "at_least")

    def _why(self, row: ClassRow, measures: Mapping[str, float], told: Mapping[str, str]) -> str:
        """`HBM at 82 % of its ceiling, threshold 60 %`; for what is left over, the largest of what is known."""
        parts = [
            f"{self._told(c.measure, measures, told)}, threshold {_number(c.measure, c.limit)}"
            for c in row.conditions
            if c.kind != "not_below" and c.measure in self.words
        ]
        if parts or row.model:
            return "; ".join(parts)
        limits = [(c, r) for r in self.rows if r.of == row.of and not r.model for c in r.conditions]
        near = [
            (measures[c.measure] / c.limit, c)
            for c, r in limits
            if c.kind == "at_least"
            and c.measure in measures
            and c.measure in self.words
            and r.name != row.name
        ]
        if not near:
            return ""
        closest = max(near, key=lambda pair: pair[0])[1]
        return f"{self._told(closest.measure, measures, told)}, threshold {_number(closest.measure, closest.limit)}"

    def _told(self, measure: str, measures: Mapping[str, float], told: Mapping[str, str]) -> str:
        words = self.words[measure]
        for key, value in told.items():
            words = words.replace(f"{{{key}}}", value)
        return words.replace("{value}", _number(measure, measures[measure]))


@functools.cache
def class_table() -> ClassTable:
    """The table of classes.toml."""
    data = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return ClassTable(tuple(map(_row, data["class"])), data["measures"], float(data["noise"]))


def _row(data: Mapping[str, Any]) -> ClassRow:
    return ClassRow(
        of=data["of"],
        name=data["class"],
        conditions=tuple(map(_condition, data["when"])),
        model=frozenset(data.get("model", ())),
        everyone=bool(data.get("any", False)),
        source=data["source"],
    )


def _condition(data: Mapping[str, Any]) -> Condition:
    ((kind, limit),) = ((k, v) for k, v in data.items() if k != "measure")
    if kind == "not_below":
        return Condition(data["measure"], kind, other=limit)
    return Condition(data["measure"], kind, float(limit))


def _possible(rows: Sequence[ClassRow], measures: Mapping[str, float], noise: float) -> Iterator[str]:
    """Every class that the rows can come to within the noise, in their order."""
    for row in rows:
        can, must = _holds(row, measures, noise)
        if can:
            yield row.name
        if must:
            return
    yield UNKNOWN


def _holds(row: ClassRow, measures: Mapping[str, float], noise: float) -> tuple[bool, bool]:
    found = [condition.holds(measures, noise) for condition in row.conditions]
    return all(can for can, _ in found), all(must for _, must in found)


def _range(measure: str, value: float, noise: float) -> tuple[float, float]:
    """What a measure may be; that there are measures at all is certain."""
    return (value, value) if measure == _KNOWN else (value * (1 - noise), value * (1 + noise))


def _number(measure: str, value: float) -> str:
    if measure.endswith("_ns"):
        return f"{value / 1000:.3g} us"
    return f"{value * 100:.0f} %"
