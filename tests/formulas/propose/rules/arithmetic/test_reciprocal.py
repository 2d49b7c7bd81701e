"""Of several divisions, those on the finding's line are answered first."""

from __future__ import annotations

from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import UNKNOWN_COLUMN
from hipscope.formulas.base import Finding
from hipscope.formulas.propose.rules.arithmetic.reciprocal import propose
from tests.formulas.propose.rules.cases import FOLDER, candidates, read_facts

CASE = FOLDER / "reciprocal" / "behind_directives.hip"


def finding(line: int) -> Finding:
    return Finding(
        "latencyHiding", "scale", "scale", str(CASE), line, line, UNKNOWN_COLUMN, UNKNOWN_COLUMN, 0.5, "", ()
    )


def test_the_findings_own_division_is_replaced_alone_and_first() -> None:
    source = CASE.read_bytes()
    kernel = parse(source).kernels[0]
    facts = read_facts(source)
    second = source.splitlines()[11]
    assert b"/ total" in second
    own, everywhere = candidates(propose(source, kernel, finding(12), facts))
    assert own.text.count(b"in[i] / total") == 1
    assert b"sum += in[i] * inverse;" in own.text[own.text.index(b"#pragma unroll 2") :]
    assert b"in[i] / total" not in everywhere.text
    # A finding on a line without a division, as that of the kernel, asks for all of them.
    assert [c.text for c in candidates(propose(source, kernel, finding(2), facts))] == [everywhere.text]
