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
        ("runs", "most_hundred", "all elements of each input the same but one"),
        ("sobel", "zero_gx", "argument 7 0, all elements of each input the same"),
        ("softce", "label_byte", "but for what an argument names"),
        ("softce", "no_smooth_share", "argument 4 1, argument 5 1, argument 6 1"),
        ("blend", "opaque", "argument 4 255, argument 5 1"),
        ("cholesky", "last_row", "diagonals that outweigh their rows"),
        ("redblack", "odd_row", "sizes one less"),
        ("redblack", "near_edge", "argument 3 3, argument 6 1.919"),
        ("winograd", "no_middle", "every other float of a few is 0"),
    ],
)
def test_what_once_got_through_is_rejected(program: str, rewrite: str, seen_by: str) -> None:
    path = ATTACKS / f"{program}.hip"
    (candidate,) = (one for one in rewrites(path) if one.name == rewrite)
    with accordo.capture(path, kernel=program) as recording:
        found = verdict(recording, accordo.prepare(recording), candidate)
    assert found.outcome == "different"
    assert seen_by in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "rewrite", "named"),
    [
        ("lz", "far", "more than 12 bits, which the rewrite keeps of 16"),
        ("cholesky", "shifted_row", "never with sizes beyond 128, of which the rewrite asks for a bit"),
        # Right ones, in another order: which infinities cancel is not what the original means.
        ("redblack", "mixed", "never held to NaN, for which infinite inputs leave infinity in `u`"),
        ("winograd", "direct", "never held to NaN, for which infinite inputs leave infinity in `out`"),
    ],
)
def test_what_no_trial_shows_is_named(program: str, rewrite: str, named: str) -> None:
    path = ATTACKS / f"{program}.hip"
    (candidate,) = (one for one in rewrites(path) if one.name == rewrite)
    with accordo.capture(path, kernel=program) as recording:
        found = verdict(recording, accordo.prepare(recording), candidate)
    assert found.equivalent
    assert named in found.reason
