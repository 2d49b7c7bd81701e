"""The tables of the formulas, read once: their words, the causes of waiting, the numbers that decide.

Formulas name themselves and have their title, their remedies, their directions for a language model and what they need
of a capture from their row.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hipscope.formulas.base import Formula, Need


@functools.cache
def table(
    name: Literal["causes", "denied", "formulas", "searches", "thresholds"],
) -> Mapping[str, Mapping[str, Any]]:
    """The rows of a table by their names; its head says what they hold."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


THRESHOLDS: Mapping[str, float] = {name: row["value"] for name, row in table("thresholds").items()}


class Worded(Formula):
    """A formula whose words stand in the table."""

    def __init_subclass__(cls) -> None:
        WORDED[cls.name] = cls
        row = table("formulas")[cls.name]
        cls.title, cls.remedy, cls.guidance = (
            row["title"],
            tuple(row["remedy"]),
            tuple(row.get("guidance", ())),
        )
        cls.needs = tuple(
            Need(tuple(n["captures"]), n["gives"], tuple(n.get("counters", ())), tuple(n.get("archs", ())))
            for n in row["needs"]
        )


WORDED: dict[str, type[Worded]] = {}
"""The formulas that were imported, by name."""


def hardware_note(formula: str) -> str | None:
    """What the hardware does in the case that a formula finds, in two short paragraphs; None for one without a note."""
    note: str | None = table("formulas").get(formula, {}).get("hardware")
    return note
