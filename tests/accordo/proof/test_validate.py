"""The proof, on kernels that are Python functions: which wrong candidates are caught, and by which defence."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CaptureUnreadable, read_capture_set
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.checks.enough_workgroups import NOTE
from hipscope.accordo.reference.trials import SEEDS
from hipscope.accordo.replay.replay import Replay, ReplayTool, patience

Judge = Callable[..., Verdict]

LOOP = "def kernel(b, order):\n    for i in order:\n        {}\n"
RIGHT = LOOP.format("if i < 48: b[1][i] = b[0][i] + b[0][i]")


def test_the_same_work_written_differently_is_equivalent(judge: Judge) -> None:
    verdict = judge(RIGHT)
    assert verdict.equivalent
    assert verdict.bit_exact
    assert "bit for bit on 1 recorded launch and on 35 other inputs and launch shapes" in verdict.reason


@pytest.mark.parametrize(
    ("candidate", "kind", "words"),
    [
        (LOOP.format("if i < 47: b[1][i] = 2.0 * b[0][i]"), "wrong_value", "1 of 48 elements of `out`"),
        (LOOP.format("if i < 24: b[1][i] = 2.0 * b[0][i]"), "wrong_value", "24 of 48 elements of `out`"),
        (
            LOOP.format("if i < 49: b[1][i] = 2.0 * b[0][min(i, 47)]"),
            "stray_write",
            "does not: `out`, element 48",
        ),
        (LOOP.format("if i < 48: b[1][i] = 2.0 * b[0][i - i % 2]"), "wrong_value", "of `out` are wrong"),
        (
            LOOP.format("if i < 48: b[1][i] = 2.0 * b[0][i]; b[0][i] = 0.0"),
            "input_changed",
            "changes an input: `in`",
        ),
        (LOOP.format("b[1][i + 1] = 2.0 * b[0][i % 48]"), "fault", "out of bounds"),
        (LOOP.format("pass"), "wrong_value", "48 of 48 elements"),
        (LOOP.format("if i < 48: b[1][i] = i - 6.0"), "wrong_value", "of `out` are wrong"),
        (
            LOOP.format("if i < 48: b[1][i] = float('nan') if i == 3 else 2.0 * b[0][i]"),
            "wrong_value",
            "nan instead",
        ),
        (LOOP.format("if i < 48: b[1][i] = 2.0 * b[0][i] * (1 + 1e-6)"), "wrong_value", "of `out` are wrong"),
    ],
)
def test_a_wrong_candidate_is_caught(judge: Judge, candidate: str, kind: str, words: str) -> None:
    verdict = judge(candidate)
    assert verdict.outcome == "different"
    assert verdict.mismatches[0].kind == kind
    assert words in verdict.reason


def test_a_result_that_matches_only_the_recorded_inputs_is_caught_by_fresh_ones(judge: Judge) -> None:
    verdict = judge(LOOP.format("if i < 48: b[1][i] = float(i - 6)"), exact=False)
    assert verdict.outcome == "different"
    assert verdict.trials[0].outcome == "same"
    assert "permuted" in verdict.trials[-1].inputs


def test_leaving_the_old_result_in_place_is_caught_by_poison(judge: Judge) -> None:
    # The reference writes what is already there: without poison, doing nothing would look right.
    verdict = judge(LOOP.format("pass"), reference=LOOP.format("if i < 48: b[1][i] = 7.0"))
    assert verdict.outcome == "different"


def test_a_result_that_depends_on_the_order_of_threads_is_caught(judge: Judge) -> None:
    flaky = LOOP.format("if i < 48: b[1][i] = 2.0 * b[0][i]") + "    if order[0] != {}: b[1][0] = 5.0\n"
    order = list(range(64))
    random.Random(3).shuffle(order)  # the order of the first run: right there, wrong in the second
    verdict = judge(flaky.format(order[0]))
    assert verdict.outcome == "different"
    assert verdict.mismatches[0].kind == "depends_on_poison"


@pytest.mark.parametrize(
    ("candidate", "trial"),
    [
        (
            LOOP.format("if i < n and (i < 16 or len(order) > 32): b[1][i] = 2.0 * b[0][i]"),
            "workgroups of 32 x 1 x 1",
        ),
        (
            "def kernel(b, order):\n    for i in range(n): b[1][i] = 2.0 * b[0][i] if i < len(order) else 9.0\n",
            "workgroups of 32 x 1 x 1",
        ),
        (LOOP.format("if i < 48: b[1][i] = 2.0 * b[0][i]"), "integer arguments one less"),
        (LOOP.format("if i < n or i > 99: b[1][i % 64] = 2.0 * b[0][i % 48]"), "one more workgroup"),
    ],
)
def test_a_candidate_made_for_the_recorded_shape_is_caught_by_other_launches(
    judge: Judge, candidate: str, trial: str
) -> None:
    verdict = judge(candidate, reference=LOOP.format("if i < n: b[1][i] = 2.0 * b[0][i]"))
    assert verdict.outcome == "different"
    assert verdict.trials[-1].inputs == trial


def test_a_candidate_that_does_all_of_the_work_in_any_launch_is_right(judge: Judge) -> None:
    everything = "def kernel(b, order):\n    for i in range(n): b[1][i] = 2.0 * b[0][i]\n"
    verdict = judge(everything, reference=LOOP.format("if i < n: b[1][i] = 2.0 * b[0][i]"))
    assert verdict.equivalent
    assert NOTE in verdict.notes


def test_a_launch_on_which_the_reference_is_not_well_defined_is_dropped(judge: Judge) -> None:
    racy = LOOP.format("b[1][i % 64] = 1.0") + "    if len(order) < 64: b[1][0] = b[0][order[0]]\n"
    verdict = judge(racy, racy)
    assert verdict.equivalent
    dropped = [t for t in verdict.trials if t.outcome == "dropped"]
    assert [t.inputs for t in dropped] == ["workgroups of 32 x 1 x 1", "workgroups of 32 x 2 x 1"]
    assert "not reproducible there" in dropped[0].detail


def test_within_tolerance_is_enough_where_exactness_was_not_promised(judge: Judge) -> None:
    verdict = judge(LOOP.format("if i < 48: b[1][i] = 2.0 * b[0][i] * (1 + 1e-6)"), exact=False)
    assert verdict.equivalent
    assert not verdict.bit_exact
    assert 0 < verdict.max_relative < 1e-5
    assert verdict.max_ulp > 0


def test_integers_are_never_allowed_a_tolerance(judge: Judge) -> None:
    reference = LOOP.format("if i < 48: b[1][i] = 1000000 * b[0][i]")
    verdict = judge(reference.replace("b[0][i]", "b[0][i] + 1", 1), reference, exact=False, code="i")
    assert verdict.outcome == "different"


def test_sums_by_atomics_may_be_added_in_another_order(judge: Judge) -> None:
    reference = LOOP.format("if i < 48: b[1].add(0, b[0][i] * 1.1)")
    blocked = (
        "def kernel(b, order):\n    for start in range(0, min(48, len(order)), 16):\n"
        "        b[1].add(0, sum(b[0][i] * 1.1 for i in range(start, start + 16)))\n"
    )
    assert judge(blocked, reference).equivalent


def test_a_sum_that_misses_a_part_is_caught(judge: Judge) -> None:
    reference = LOOP.format("if i < 48: b[1].add(0, b[0][i] * 1.1)")
    verdict = judge(reference.replace("i < 48", "i < 47"), reference)
    assert verdict.outcome == "different"


def test_inputs_on_which_the_reference_itself_fails_are_dropped_and_said_so(judge: Judge) -> None:
    reference = LOOP.format("if i < 48: b[1][i] = b[0][b[0][i]]")
    touchy = LOOP.format("if i < 48: b[1][i] = b[0][b[0][i] if b[0][0] == 0 else 99]")
    assert judge(reference, reference, code="i", without={"large_integers"}).notes == ()
    verdict = judge(touchy, touchy, code="i")
    assert verdict.equivalent
    assert any("dropped, the reference itself fails" in note for note in verdict.notes)


def test_a_reference_that_is_not_reproducible_cannot_judge(judge: Judge) -> None:
    verdict = judge(RIGHT, reference=LOOP.format("if i < 48: b[1][0] = b[0][i]"))
    assert verdict.outcome == "inconclusive"
    assert "not reproducible" in verdict.reason


def test_a_reference_that_fails_in_another_order_is_no_fault_of_the_program(judge: Judge) -> None:
    first = list(range(64))
    random.Random(SEEDS[0]).shuffle(first)
    writer = next(i for i in first if i < 48)
    read = f"b[0][0 if b[1][{writer}] == 7 else 99]"
    reference = LOOP.format(f"if i < 48: b[1][i] = 7 if i == {writer} else {read}")
    verdict = judge(reference, reference, code="i")
    assert verdict.outcome == "inconclusive"
    assert "cannot be replayed (fault) when its waves run in another order" in verdict.reason


def test_a_kernel_that_writes_nothing_proves_nothing(judge: Judge) -> None:
    verdict = judge(LOOP.format("pass"), reference=LOOP.format("b[0][i % 48]"))
    assert verdict.outcome == "inconclusive"
    assert "wrote nothing" in verdict.reason


def test_a_kernel_that_writes_on_other_inputs_only_is_compared_on_those(judge: Judge) -> None:
    # As the steps of a shortest-path search that find no shorter one.
    reference = LOOP.format("if i < 48 and b[0][i] < b[0][(i + 1) % 48] - 5: b[1][i] = b[0][i]")
    verdict = judge(reference, reference)
    assert verdict.equivalent
    assert any("on the recorded inputs the kernel wrote nothing" in note for note in verdict.notes)
    assert judge(reference.replace("= b[0][i]", "= b[0][i] + 1"), reference).outcome == "different"


def test_the_verdict_explains_itself_with_a_map(judge: Judge) -> None:
    verdict = judge(LOOP.format("if i < 24: b[1][i] = 2.0 * b[0][i]"))
    assert "x wrong, . right" in verdict.explain()
    assert verdict.mismatches[0].map.splitlines() == ["." * 24 + "x" * 8, "x" * 16 + " " * 16]
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_a_capture_set_that_is_damaged_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "dispatch_1").mkdir()
    (tmp_path / "dispatch_1" / "meta.json").write_text('{"id": 1}')
    with pytest.raises(CaptureUnreadable, match="not a captured dispatch"):
        read_capture_set(tmp_path)


@pytest.mark.parametrize(("seconds", "limit"), [(0.01, 5.0), (1.0, 20.0), (10.0, 60.0)])
def test_a_run_may_take_many_times_what_a_known_one_took_within_the_setting(
    seconds: float, limit: float
) -> None:
    known = Replay("ok", "", None, Path(), seconds=seconds)
    assert patience(ReplayTool(("replay",), timeout_s=60.0), known) == limit


def test_a_candidate_with_a_defect_that_the_reference_has_not_is_refused_though_its_results_are_right(
    judge: Judge,
) -> None:
    racy = RIGHT + "# defect data-race"
    assert judge(racy).equivalent  # nobody looked
    verdict = judge(racy, sanitize="all")
    assert not verdict.equivalent
    assert verdict.mismatches[0].kind == "sanitizer"
    assert "a data-race" in verdict.reason


def test_a_defect_of_a_kind_that_the_reference_has_too_is_not_held_against_a_candidate(judge: Judge) -> None:
    racy = RIGHT + "# defect data-race"
    assert judge(racy, reference=racy, sanitize="all").equivalent
    worse = judge(racy + "\n# defect divergent-barrier", reference=racy, sanitize="all")
    assert [m.message for m in worse.mismatches if "divergent-barrier" in m.message]
    assert len(worse.mismatches) == 1


def test_what_goes_wrong_under_the_sanitizers_is_told_as_without_them(judge: Judge) -> None:
    """They leave out what they refuse, and the launch with 47 elements is made under them only."""
    verdict = judge(RIGHT + "    if n == 47: b[0][100000]\n", sanitize="all")
    assert verdict.mismatches[0].kind == "fault"
    assert "out of bounds" in verdict.reason


def test_the_run_under_the_sanitizers_is_compared_like_any_other(judge: Judge) -> None:
    """Only in the natural order of the waves, in which nothing else is run on the recorded inputs."""
    order = list(range(64))
    random.Random(0).shuffle(order)
    wrong = LOOP.format(f"if i < 48: b[1][i] = b[0][i] + b[0][i] if order != {order} else 0.0")
    assert judge(wrong).equivalent
    verdict = judge(wrong, sanitize="all")
    assert verdict.outcome == "different"
    assert verdict.mismatches[0].kind == "depends_on_poison"
