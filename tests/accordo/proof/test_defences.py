"""Each defence of the proof, with a candidate that it alone stops: rejected with all of them, accepted without it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import get_args

import pytest

from hipscope.accordo.compare.tolerance import UserTolerance
from hipscope.accordo.model.defences import Defence
from hipscope.accordo.model.verdict import Verdict

Judge = Callable[..., Verdict]

LOOP = "def kernel(b, order):\n    for i in order:\n        {}\n"
RIGHT = LOOP.format("if i < n: b[1][i] = scale * b[0][i]")
INTEGERS = LOOP.format("if i < n: b[1][i] = 2 * b[0][i]")
SEEN = (
    "import math\n"
    "def kernel(b, order):\n"
    "    seen = [b[0][i] for i in range(48)]\n"
    "    known = [i * 0.5 - 3 for i in range(48)]\n"
    "    new = [x for x in seen if x not in known]\n"
    "    moved = sum(x != y for x, y in zip(seen, known))\n"
    "    calm = all(map(math.isfinite, seen)) and max(map(abs, seen)) < 2000\n"
    "    wrong = {}\n"
    "    for i in order:\n"
    "        if i < n: b[1][i] = scale * b[0][i] * (1.5 if wrong else 1.0)\n"
)


def first_thread(seed: int) -> int:
    """The thread that starts first in the order that a seed gives 64 threads."""
    order = list(range(64))
    random.Random(seed).shuffle(order)
    return order[0]


def in_order(seed: int, factor: float) -> str:
    """Wrong by a factor, in one order of the captured launch only."""
    launch = "len(order) == 64 and rows == 1 and n == 48 and b[0].address == 4096 and scale == 2"
    when = f"order[0] == {first_thread(seed)} and {launch}"
    captured = "[b[0][i] for i in range(48)] == [i * 0.5 - 3 for i in range(48)]"
    return RIGHT.replace("scale * b[0][i]", f"scale * b[0][i] * ({factor} if {when} and {captured} else 1.0)")


# defence -> (reference, candidate, how it is judged)
ONLY: dict[Defence, tuple[str, str, dict[str, object]]] = {
    "poison": (LOOP.format("if i < n: b[1][i] = 7.0"), LOOP.format("pass"), {}),
    "poison_fillings": (RIGHT, RIGHT.replace("= scale", "= (1.0 if b[1][3] == b[1][3] else 2.0) * scale"), {}),
    "other_order": (RIGHT, in_order(4, 1.5), {}),
    "repeats": (RIGHT, in_order(5, 1 + 1e-6), {"exact": False}),
    "relocation": (RIGHT, RIGHT.replace("scale", "(scale if b[0].address < b[1].address or n != 48 else 1.0)"), {}),
    "permuted_inputs": (RIGHT, SEEN.format("not new and moved > 2 and len(set(seen)) > 40"), {}),
    "scaled_inputs": (
        RIGHT, SEEN.format("calm and len(new) > 20 and min(seen) < -1 < max(seen) and seen != sorted(seen)"), {},
    ),
    "special_inputs": (RIGHT, RIGHT.replace("b[0][i]", "(1e6 if 1e6 < b[0][i] < 1e99 else b[0][i])"), {}),
    "not_finite_inputs": (
        RIGHT, RIGHT.replace("scale * b[0][i]", "scale * b[0][i] if b[0][i] == b[0][i] else 0.0"), {},
    ),
    "large_integers": (INTEGERS, INTEGERS.replace("2 * b[0][i]", "2 * (b[0][i] % 65536)"), {"code": "i"}),
    "one_changed_input": (RIGHT, SEEN.format("moved == 1"), {}),
    "other_scalars": (RIGHT, RIGHT.replace("scale", "(2.0 if scale else 0.0)"), {}),
    "turned_flags": (
        LOOP.format("if i < 48: b[1][i] = (2 - n) * b[0][i]"), LOOP.format("if i < 48: b[1][i] = 2 * b[0][i]"),
        {"size": 0},
    ),
    "other_variables": (RIGHT.replace("scale *", "v[0] *"), RIGHT.replace("scale *", "5 *"), {}),
    "other_workgroups": (
        RIGHT, RIGHT.replace("scale *", "(scale if len(order) == block or n != 48 else 1.0) *"), {},
    ),
    "more_dimensions": (RIGHT, RIGHT.replace("scale *", "(scale if rows == 1 else 1.0) *"), {}),
    # Right in a launch beyond 16 bits, as `written_bytes_only` below: `grown` does not stop them.
    "other_sizes": (RIGHT, RIGHT.replace("i < n", "i < (n if n > 65536 else 48)"), {}),
    "whole_workgroups": (RIGHT, RIGHT.replace("i < n", "i < n and n != 40"), {"workgroup": 20}),
    "inputs_untouched": (RIGHT, RIGHT.rstrip() + "; b[0][i] = 0.125\n", {}),
    "written_bytes_only": (RIGHT, RIGHT + "    if n < 60: b[1][60] = 1.0\n", {}),
    "written_back": (RIGHT, RIGHT + "    b[1][60] = b[1][60]\n", {}),
    "larger_workgroups": (RIGHT, RIGHT.replace("scale *", "(scale if block <= 64 else 1.0) *"), {}),
    "not_finite_places": (
        RIGHT, RIGHT.replace("scale * b[0][i]", "scale * b[0][i] if i != 3 else float('nan')"), {"exact": False},
    ),
    "lost_atomics": (
        LOOP.format("if i < n: b[1].add(0, scale * b[0][i])"),
        LOOP.format("if i < n: b[1][0] = b[1][0] + scale * b[0][i]"),
        {"exact": False},
    ),
    "variables": (RIGHT + "    v[0] += n\n", RIGHT + "    v[0] += 0\n", {}),
    "all_dispatches": (
        RIGHT, SEEN.format("sorted(seen)[0] == 97.0 and calm and [*seen] == [97.0 + i * 0.5 for i in range(48)]"),
        {"firsts": (-3.0, 97.0)},
    ),
}  # fmt: skip
ELSEWHERE: dict[Defence, str] = {
    # They need a compiler: tests/accordo/proof/test_adversarial.py.
    "small_integers": "bytes_histogram, plain_ascii",
    "updated_memory": "totals, alone",
    "other_strides": "axpy, small_strides",
    "state": "filter, later_launches",
    "named_values": "missing, sentinel",
    "named_integers": "missing, label_sentinel",
    "named_arguments": "axpy, magic_a",
    "larger_sizes": "sgemm, k512",
    "other_signs": "gray, no_negative",
    "grown": "axpy, byte_block",
    "beyond_32_bits": "heat, index32",
    "mixed_integers": "lookup, few_probes",
    "zero_scalars": "sgemm, beta_zero",
    "crossed": "bitpack, width1_tail",
    "structured_inputs": "roots, sixteen",
    "held_waves": "lastsum, ticket_first",
    "printed": "report, other_words",
    # The same, tests/formulas/judge/test_defences.py.
    "oracle": "test_less_precision_than_the_reference_is_seen_against_double",
    "pointers_apart": "test_what_is_right_only_where_two_pointers_are_the_same_is_refused",
}


def test_every_defence_that_can_be_switched_off_has_its_candidate() -> None:
    assert set(ONLY) | set(ELSEWHERE) == set(get_args(Defence))


# What stops the candidate of a defence as well.
BESIDE: dict[Defence, set[Defence]] = {"large_integers": {"structured_inputs"}}


@pytest.mark.parametrize("defence", ONLY)
def test_only_this_defence_stops_the_candidate(judge: Judge, defence: Defence) -> None:
    reference, candidate, how = ONLY[defence]
    stopped = judge(candidate, reference, **how)
    assert stopped.outcome == "different", defence
    missed = judge(candidate, reference, without=frozenset({defence, *BESIDE.get(defence, ())}), **how)
    assert missed.equivalent, f"{defence} is not the only one: {missed.reason}"
    right = judge(reference, reference, **how)
    assert right.equivalent, right.reason


@pytest.mark.parametrize(
    ("candidate", "kind", "words"),
    [
        # An index past the end with an unused value: the result is right, only the bounds check sees it.
        (RIGHT + "    b[0][48]\n", "fault", "out of bounds"),
        # A write past the end: it lands in no buffer, so no comparison of memory could see it.
        (RIGHT + "    b[1][64] = 1.0\n", "fault", "out of bounds"),
    ],
)
def test_only_the_bounds_check_sees_an_access_outside_of_a_buffer(
    judge: Judge, candidate: str, kind: str, words: str
) -> None:
    verdict = judge(candidate, RIGHT)
    assert (verdict.outcome, verdict.mismatches[0].kind) == ("different", kind)
    assert words in verdict.reason


@pytest.mark.parametrize("old", ["b[1][3] != b[1][3]", "b[1][3] == math.inf", "b[1][3] == 0"])
def test_an_old_output_of_nan_of_infinity_and_of_zero_is_tried(judge: Judge, old: str) -> None:
    verdict = judge("import math\n" + RIGHT.replace("= scale", f"= (2.0 if {old} else 1.0) * scale"), RIGHT)
    assert verdict.outcome == "different"


@pytest.mark.parametrize("size", [40, 41, 39, 20])
def test_sizes_around_whole_workgroups_are_tried(judge: Judge, size: int) -> None:
    # 48 elements in workgroups of 20; 39 is one less than two of them.
    verdict = judge(RIGHT.replace("i < n", f"i < n and n != {size}"), RIGHT, workgroup=20)
    assert (verdict.outcome, verdict.trials[-1].outcome) == ("different", "different")


def test_more_dimensions_are_not_tried_where_the_reference_itself_races(judge: Judge) -> None:
    wrong = RIGHT.replace("scale *", "(scale if rows == 1 else 1.0) *")
    verdict = judge(wrong, RIGHT + "    # defect data-race\n")
    assert verdict.equivalent, verdict.reason
    assert any("not well defined there: a data-race" in note for note in verdict.notes)


def test_a_size_of_zero_is_tried(judge: Judge) -> None:
    # Reads the last element whether there is one or not.
    verdict = judge(RIGHT.replace("    for", "    b[0][n - 1]\n    for", 1), RIGHT)
    assert verdict.trials[-1].inputs == "integer arguments 0"


def test_a_size_of_one_more_is_tried_on_longer_buffers(judge: Judge) -> None:
    verdict = judge(RIGHT.replace("i < n", "i < min(n, 48)"), RIGHT)
    assert verdict.trials[-1].inputs == "integer arguments one more, longer buffers"


def test_infinity_in_what_is_updated_is_tried(judge: Judge) -> None:
    # 0 * x changes nothing but infinity.
    update = LOOP.format("if i < n: b[1][i] = b[1][i] + scale * b[0][i]")
    verdict = judge(update.rstrip() + " + 0 * b[1][i]\n", update)
    assert "some floats NaN or infinite" in verdict.reason


def test_a_variable_that_only_the_reference_has_must_keep_its_value(judge: Judge) -> None:
    counting = RIGHT + "    v[0] += 1\n"
    assert judge(counting, counting).equivalent
    assert "device variable `v`" in judge(counting.replace("+= 1", "+= 2"), counting).reason


def test_what_a_user_allows_for_one_argument_holds_for_that_one(judge: Judge) -> None:
    rough = RIGHT.replace("scale * b[0][i]", "scale * b[0][i] * 1.001")
    assert judge(rough, RIGHT, exact=False).outcome == "different"
    allowed = UserTolerance(1e-2)
    assert judge(rough, RIGHT, exact=False, tolerances={"out": allowed}).equivalent
    assert judge(rough, RIGHT, exact=False, tolerances={"in": allowed}).outcome == "different"
    assert judge(rough, RIGHT, exact=False, tolerance=allowed).equivalent
