"""The tables: which metrics an architecture has, and by which formula.

Takes an architecture, gives its rows from the file of its name, or from the one that it is like.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent
# Architectures whose table has another one's name.
_SAME = (
    ("gfx94", "gfx942"),
    ("gfx10", "gfx1100"),
    ("gfx11", "gfx1100"),
    ("gfx12", "gfx1200"),
)


@dataclass(frozen=True)
class Metric:
    """One row: `formula` is in the words that the head of gfx942.toml explains."""

    key: str
    group: str
    name: str
    unit: str
    formula: str
    meaning: str
    source: str


@dataclass(frozen=True)
class MetricTable:
    """The rows of an architecture in their order, the expressions that they use, and the groups with their titles."""

    metrics: Mapping[str, Metric]
    names: Mapping[str, str]
    groups: Mapping[str, str]


def tables() -> tuple[str, ...]:
    """The architectures that have a table of their own."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def metric_table(arch: str) -> MetricTable | None:
    """The table of an architecture (`gfx942`); None when there is none for it."""
    name = next((table for prefix, table in _SAME if arch.startswith(prefix)), arch)
    return _read(name) if name in tables() else None


@functools.cache
def _read(name: str) -> MetricTable:
    data = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    base = _read(data["like"]) if "like" in data else MetricTable({}, {}, {})
    renames: Mapping[str, str] = data.get("rename", {})
    absent = set(data.get("absent", ()))
    inherited = {key: _renamed(metric, renames) for key, metric in base.metrics.items() if key not in absent}
    names = {key: _rename(text, renames) for key, text in base.names.items()}
    own = {key: Metric(key=key, **row) for key, row in data.get("metrics", {}).items()}
    return MetricTable(
        {**inherited, **own}, {**names, **data.get("names", {})}, {**base.groups, **data.get("groups", {})}
    )


def _renamed(metric: Metric, renames: Mapping[str, str]) -> Metric:
    return Metric(**{**vars(metric), "formula": _rename(metric.formula, renames)})


def _rename(text: str, renames: Mapping[str, str]) -> str:
    for before, after in renames.items():
        text = re.sub(rf"\b{before}(?=_)", after, text)
    return text
