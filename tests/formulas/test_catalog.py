"""The list of rewrites is what the modules hold: each rule once, with what it answers, and the page made of it."""

from __future__ import annotations

from pathlib import Path

from hipscope.formulas.catalog import PAGE, page, rewrites
from hipscope.formulas.detect.registry import FORMULAS
from hipscope.formulas.propose.rules import rules

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_that_of_the_rules() -> None:
    assert (ROOT / PAGE).read_text() == page(), f"python -m hipscope.formulas.catalog > {PAGE}"


def test_each_rule_has_one_name_says_what_it_changes_and_answers_a_formula_or_every_kernel() -> None:
    names = [rule.name for rule in rules()]
    assert len(set(names)) == len(names)
    formulas = {formula.name for formula in FORMULAS}
    for rule in rules():
        assert rule.about["changes"]
        assert rule.anywhere or rule.answers
        assert set(rule.answers) <= formulas
    assert {"division", "restrict", "compiler_hints", "shared_items"} <= {entry.name for entry in rewrites()}


def test_what_a_rule_needs_and_assumes_stands_in_its_docstring() -> None:
    (division,) = (entry for entry in rewrites() if entry.name == "division")
    assert division.needs == "operands known to be in 0..2^31"
    assert division.assumes == "parameters as recorded"
