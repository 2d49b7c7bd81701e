"""The tables of the formulas: a row for each formula, notes and numbers that name their source."""

from __future__ import annotations

from typing import get_args

from hipscope.analysis.config import FormulaName
from hipscope.formulas.detect.registry import DIAGNOSE, FORMULAS
from hipscope.formulas.propose.llm.tokens import estimate_tokens
from hipscope.formulas.tables import hardware_note, table

ROWS = table("formulas")


def test_each_formula_has_its_words_from_its_row_and_no_row_is_left_over() -> None:
    assert {f.name: f.title for f in (*FORMULAS, DIAGNOSE)} == {
        name: row["title"] for name, row in ROWS.items()
    }
    assert all(f.remedy for f in FORMULAS)


def test_each_note_on_the_hardware_is_short_and_has_a_source() -> None:
    notes = {name: row for name, row in ROWS.items() if "hardware" in row}
    assert notes
    assert set(notes) <= set(get_args(FormulaName))
    for name, row in notes.items():
        assert row["hardware_source"]
        assert len(row["hardware"].split("\n")) == 2
        assert estimate_tokens(row["hardware"]) < 120
        assert hardware_note(name) == row["hardware"]
    assert hardware_note("diagnoseOnly") is None


def test_each_number_that_decides_has_a_meaning_and_a_source() -> None:
    assert all(row["meaning"] and row["source"] for row in table("thresholds").values())
