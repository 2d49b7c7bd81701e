"""What the whole program prints with a rewrite, held against runs of the original by other clocks."""

from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.analysis.run import Run
from hipscope.formulas.judge.program_output import output_difference
from hipscope.formulas.judge.whole_program import Rehearsals


@pytest.mark.parametrize(
    ("others", "lines", "runs"),
    [
        (["took 8 us", "took 4 us"], ("took 6 us",), 1),
        (["took 6 us", "took 4 us"], ("took 6 us",), 2),  # by chance the same by the first other clock
        (["took 6 us", "took 6 us"], (), 2),
    ],
)
def test_a_number_that_any_run_of_the_original_prints_otherwise_is_no_difference(
    others: list[str], lines: tuple[str, ...], runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def profile(output: str) -> Any:
        return SimpleNamespace(program=SimpleNamespace(output=output), kernels=(), kernel=lambda _: None)

    session = SimpleNamespace(profile=profile("took 6 us"), prepared_dir=None)
    bench: Any = SimpleNamespace(session=session, symbols=frozenset(), source=None)
    asked: list[int | None] = []

    def original(_: Rehearsals, clock: int | None) -> str:
        asked.append(clock)
        return others[len(asked) - 1]

    monkeypatch.setattr(Rehearsals, "_original", original)
    with Rehearsals(bench, Run()) as rehearsals:
        varied = rehearsals._varying(session.profile, profile("took 5 us"), (), 0.0)
    assert varied.lines == lines
    assert varied.beyond is None
    assert len(asked) == runs


def test_of_lines_that_differ_the_one_that_says_more_than_a_number_is_named() -> None:
    before, after = "Total time: 183.4 (ms)\nPASS\n", "Total time: 51.2 (ms)\nFAIL\n"
    assert "`FAIL` instead of `PASS`" in (output_difference(before, after, []) or "")
    assert "`sum 3` instead of `sum 2`" in (output_difference("sum 2\n", "sum 3\n", []) or "")
    assert output_difference(before, after, ["time", "PASS|FAIL"]) is None
