"""Wrong rewrites of benchmarks/attacks that once got through, one for each way in which they did."""

from __future__ import annotations

import pytest

from hipscope.accordo import api as accordo
from tests.accordo.adversarial.subjects import rewrites
from tests.accordo.proof.test_adversarial import ATTACKS, verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "rewrite", "seen_by"),
    [
        ("rowmax", "lowest", "all floats below zero, of the size of one that a program names"),
        ("rowmax", "registers", "longer buffers, rising"),
        ("bilinear", "last_column", "all sizes beyond 1,000"),
        ("collide", "two_wide", "argument 4 2 (the candidate names it)"),
        ("norm16", "one_pass", "all 16-bit floats the same but for a few"),
        ("viterbi", "byte", "longer buffers of rows and columns"),
        ("embed", "wide_seven", "argument 5 1,027, all buffers"),
        ("epilogue", "alpha_zero", "argument 6 0, many floats NaN, many zero"),
        ("deposit", "one_cell", "argument 5 1 (the candidate names it)"),
        ("modpow", "not_reduced", "argument 5 2.14749e+09"),
        ("attend", "negative", "argument 7 2, argument 8 -"),
    ],
)
def test_what_once_got_through_is_rejected(program: str, rewrite: str, seen_by: str) -> None:
    path = ATTACKS / f"{program}.hip"
    (candidate,) = (one for one in rewrites(path) if one.name == rewrite)
    with accordo.capture(path, kernel=program) as recording:
        found = verdict(recording, accordo.prepare(recording), candidate)
    assert found.outcome == "different"
    assert seen_by in found.reason
