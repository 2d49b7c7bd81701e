"""A verdict in a terminal."""

from __future__ import annotations

from dataclasses import replace

from hipscope.server.render.verdict import drawn
from hipscope.server.reports.schema.verdict import LeftOutGate, Trial, VerdictReport

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


def test_the_text_of_validate_is_five_lines_and_the_rest_by_v() -> None:
    gates = (LeftOutGate("speed", "faster?"), LeftOutGate("tests", "do the tests pass?"))
    full = replace(REPORT, notes=("dispatch 1, a: dropped, it fails", "first", "second"), left_out=gates)
    assert drawn(full, "text", verbose=False).splitlines() == [
        "k: equivalent",
        "Equivalent bit for bit on 1 recorded launch.",
        "note: first (and 1 more: -v)",
        "tried: 30 kinds of inputs and launches (-v lists them, and each input of the kernel)",
        "not asked here, but of every rewrite: speed, tests (-v says what each asks)",
    ]
    every = drawn(full, "text", verbose=True).splitlines()
    assert [f"  {inputs}" for inputs in TRIED] == every[every.index("tried:") + 1 :][: len(TRIED)]
    assert "note: first" in every or "first" in every
    assert "number 29" in drawn(REPORT, "markdown", verbose=False)
