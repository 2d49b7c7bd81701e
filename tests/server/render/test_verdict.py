"""A verdict in a terminal."""

from __future__ import annotations

from hipscope.server.render.verdict import drawn
from hipscope.server.reports.schema.verdict import Trial, VerdictReport

TRIED = [f"other contents of `in`, number {n}" for n in range(30)]
REPORT = VerdictReport(
    outcome="equivalent",
    reason="Equivalent bit for bit on 1 recorded launch.",
    dispatches=1,
    trials=tuple(Trial(1, inputs, "same", "") for inputs in (*TRIED, TRIED[0])),
    mismatches=(),
    max_absolute=None,
    max_relative=None,
    max_ulp=0,
    bit_exact=True,
    notes=(),
    inputs=(),
    unspecified_bytes=0,
    kernel="k",
    reference="a.hip",
    candidate="b.hip",
    left_out=(),
    isolation=None,
)


def test_the_tried_line_of_validate_is_five_lines_and_the_rest_by_v() -> None:
    short = drawn(REPORT, "text", verbose=False).partition("tried:\n")[2].splitlines()
    assert short == [*(f"  {inputs}" for inputs in TRIED[:4]), "  and 26 more: -v"]
    every = drawn(REPORT, "text", verbose=True).partition("tried:\n")[2].splitlines()
    assert every == [f"  {inputs}" for inputs in TRIED]
    assert "number 29" in drawn(REPORT, "markdown", verbose=False)
