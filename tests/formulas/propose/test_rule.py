"""A rule is found by standing in a module; its decorator says when it is asked, its docstring what it needs."""

from __future__ import annotations

from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.propose.rules import further_recipes, recipes_for


def test_the_parts_of_a_docstring_are_told_apart() -> None:
    @rewrite("one", "Memory", "memoryAccess", rank=3)
    def one(*_: object) -> Refusal:
        """Loads less.

        Needs: a loop that
        ends. Assumes nothing here.
        Assumes: no overlap.
        """
        return Refusal("one", "no")

    assert one.about == {
        "changes": "Loads less", "needs": "a loop that ends. Assumes nothing here", "assumes": "no overlap",
    }  # fmt: skip
    assert (one.name, one.answers, one.rank, one.function) == ("one", ("memoryAccess",), 3, False)


def test_a_formula_asks_its_rules_and_the_others_follow_once() -> None:
    asked = recipes_for("bankConflict")
    assert [rule.name for rule in asked] == ["pad_lds", "sequential_tree"]
    names = [rule.name for rule in (*asked, *further_recipes({"bankConflict"}))]
    assert len(set(names)) == len(names)
    assert "launch_bounds" not in names
    assert "fast_math" not in names


def test_a_less_precise_rule_is_asked_where_a_project_allows_it() -> None:
    assert "fast_math" not in [rule.name for rule in recipes_for("precision")]
    assert [rule.name for rule in recipes_for("precision", approximate=True)][-1] == "fast_math"
