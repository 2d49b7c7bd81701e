"""The search over hints: those that only work together are found, and of equals the one that assumes least is first."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.accordo.model.verdict import Verdict
from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Stop
from hipscope.formulas.judge.compile_sweep import Admitted, Swept
from hipscope.formulas.judge.judge import Judgement
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize import variant_search
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.hints.variants import Hints, Variants
from tests.formulas.propose.hints.test_variants import nest, variants

Speed = Callable[[str], float]
Judging = Callable[..., list[Judgement]]
PROVED = Verdict(outcome="equivalent", reason="Equivalent.")


def _three_loops() -> Variants:
    return variants({(4, 10): 60.0, (11,): 30.0, (13,): 10.0})


def _only_last() -> Variants:
    return variants({(13,): 90.0})


@pytest.fixture
def compiled() -> list[Candidate]:
    """What was compiled, in turn."""
    return []


@pytest.fixture
def begun() -> list[str]:
    """What was begun beside the search."""
    return []


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, compiled: list[Candidate], begun: list[str]) -> Judging:
    """The judgements of all variants of a kernel whose speed is a function of its text."""

    unchanged: list[Callable[[str], bool]] = [lambda _: False]

    def sweep(_bench: Any, tried: Sequence[Candidate], _run: Run, *, known: Sequence[Admitted]) -> Swept:
        compiled.extend(tried)
        texts = {a.candidate.text for a in known}
        other = [c for c in tried if c.text not in texts and not unchanged[-1](c.text.decode())]
        return Swept(tuple(Admitted(c, None) for c in other), ())  # type: ignore[arg-type]

    def of(
        speed: Speed,
        run: Run | None = None,
        shape: Callable[[], Variants] = _three_loops,
        part: Speed | None = None,
        recipes: Sequence[Candidate] = (),
        same_code: Callable[[str], bool] = lambda _: False,
        registers: int | None = None,
    ) -> list[Judgement]:
        unchanged.append(same_code)
        resources = SimpleNamespace(vgprs=registers, agprs=None)
        profile = SimpleNamespace(kernels=[SimpleNamespace(resources=resources)])
        after: Any = None if registers is None else SimpleNamespace(profile=profile)

        def weigh(_bench: Any, candidate: Candidate, *_: Any, part: Speed | None = None) -> Judgement:
            speedup = (part or speed)(candidate.text.decode())
            stage = Outcome.ACCEPTED if speedup >= 1.03 else Outcome.NOT_FASTER
            return Judgement(candidate, stage, f"{speedup:.2f}x.", speedup=speedup, after=after)

        monkeypatch.setattr(variant_search, "weigh", weigh)
        reference = SimpleNamespace(begin=lambda: begun.append("reference"))
        bench: Any = SimpleNamespace(
            kernel=SimpleNamespace(name="shape"),
            prepare_precision=lambda: None,
            seconds_to_verify=300.0,
            part=part,
            ahead=SimpleNamespace(reference=reference),
        )
        found: list[Judgement] = []
        with contextlib.suppress(Cancelled):
            for one in variant_search.judge_variants(bench, [shape()], run or Run(), recipes=recipes):
                found.append(one)  # noqa: PERF402  # the search may end between two of them
        return found

    def proved(_bench: Any, hopeful: Any, _proofs: Any, _rehearsals: Any) -> Iterator[Judgement]:
        for quick, _ in hopeful:
            yield quick

    monkeypatch.setattr(variant_search, "sweep", sweep)
    monkeypatch.setattr(variant_search, "time_candidate", lambda *_, **__: object())
    monkeypatch.setattr(variant_search, "prove_in_order", proved)
    return of


def test_hints_that_lose_alone_are_found_together(judged: Judging) -> None:
    def speed(text: str) -> float:
        promised, unrolled = "__restrict__ a" in text, "#pragma unroll 4\n  while" in text
        return 2.78 if promised and unrolled else 1.21 if unrolled else 0.98 if promised else 1.0

    first = judged(speed)[0]
    assert first.speedup == 2.78
    assert "#pragma unroll 4\n  while" in first.candidate.text.decode()


def test_the_fastest_are_told_more(judged: Judging) -> None:
    def speed(text: str) -> float:
        gain = 1.2 if "#pragma unroll 16\n  while" in text else 1.0
        return gain * (1.5 if gain > 1.0 and "__launch_bounds__(64)" in text else 1.0)

    first = judged(speed)[0]
    assert first.speedup == pytest.approx(1.8)
    assert "__launch_bounds__(64)" in first.candidate.text.decode()


def test_variants_of_a_long_launch_are_ranked_on_a_part_and_the_fastest_timed_in_full(
    judged: Judging, begun: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[Any] = []
    monkeypatch.setattr(variant_search, "time_candidate", lambda *_, part=None, **__: timed.append(part))

    def on_part(text: str) -> float:
        return 1.4 if "unroll 8\n  while" in text else 1.3 if "unroll" in text else 1.0

    found = judged(lambda text: 1.2 if "unroll 8\n  while" in text else 1.0, part=on_part)
    assert sum(part is None for part in timed) == 3
    assert len(timed) > 8
    assert {j.speedup for j in found} == {1.2}
    assert begun
    begun.clear()
    only_there = judged(lambda _: 1.0, part=on_part)
    assert [(j.stage, j.speedup) for j in only_there] == [(Outcome.NOT_FASTER, 1.0)]
    assert not begun


def test_what_a_recipe_rewrites_is_timed_in_full_at_once(
    judged: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may change what is read again, and a part of the device has a whole L2."""
    timed: list[Any] = []

    def time_candidate(_bench: Any, candidate: Candidate, *_: Any, part: Any = None, **__: Any) -> object:
        timed.append((candidate.recipe, part))
        return object()

    monkeypatch.setattr(variant_search, "time_candidate", time_candidate)
    rewrite = Candidate("a_recipe", "", b"rewritten", expected="")
    found = judged(lambda text: 1.5 if text == "rewritten" else 1.0, part=lambda _: 1.0, recipes=[rewrite])
    assert [part for recipe, part in timed if recipe == "a_recipe"] == [None]
    assert found[0].candidate is rewrite
    assert found[0].speedup == 1.5


def test_of_equals_the_one_that_assumes_least_is_first(judged: Judging) -> None:
    best = judged(lambda text: 1.502 if "restrict" in text and "unroll 8\n  while" in text else
                  1.5 if "unroll 8\n  while" in text else 1.0)[0]  # fmt: skip
    assert "restrict" not in best.candidate.text.decode()
    assert best.candidate.assumes == ()


def test_what_was_timed_is_said_of_a_search_that_ends_before_its_proofs(
    judged: Judging, compiled: list[Candidate], monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[int] = []

    def timed(*_: Any, **__: Any) -> object:
        first.append(len(compiled))
        if len(compiled) > first[0]:
            raise Cancelled  # in the second turn of the search
        return object()

    monkeypatch.setattr(variant_search, "time_candidate", timed)
    found = judged(lambda text: 1.5 if "unroll" in text else 1.0)
    assert {j.stage for j in found} == {Outcome.ENDED}
    assert {j.speedup for j in found} == {1.5}
    assert all("unroll" in j.candidate.text.decode() for j in found)


@pytest.mark.parametrize(("speed", "needed"), [(1.5, True), (1.01, False)])
def test_the_reference_is_only_made_for_what_is_fast_enough(
    judged: Judging, begun: list[str], speed: float, *, needed: bool
) -> None:
    judged(lambda text: speed if "unroll 4" in text else 0.9)
    assert bool(begun) is needed


@pytest.mark.parametrize(("seconds", "more"), [(290.0, False), (310.0, True)])
def test_a_limit_that_is_near_ends_the_search_in_time_for_a_proof(
    judged: Judging, compiled: list[Candidate], seconds: float, *, more: bool
) -> None:
    found = judged(lambda text: 1.5 if "unroll 4" in text else 1.0, Run(Stop(None, seconds)))
    assert found[0].speedup == 1.5
    assert any("unroll 16" in c.text.decode() for c in compiled) is more


@pytest.mark.parametrize(
    ("seconds", "speed", "more"), [(290.0, 1.5, False), (310.0, 1.5, True), (290.0, 1.0, True)]
)
def test_near_a_limit_no_variant_is_timed_beside_one_that_is_fast_enough(
    judged: Judging, monkeypatch: pytest.MonkeyPatch, seconds: float, speed: float, *, more: bool
) -> None:
    replayed: list[object] = []

    def time_candidate(*_: Any, **__: Any) -> object:
        replayed.append(object())
        return replayed[-1]

    monkeypatch.setenv("HIPSCOPE_THREADS", "1")
    monkeypatch.setattr(variant_search, "time_candidate", time_candidate)
    judged(lambda _text: speed, Run(Stop(None, seconds)))
    assert (len(replayed) > 1) is more


def test_without_anything_to_prove_a_limit_leaves_the_search_as_it_is(
    judged: Judging, compiled: list[Candidate]
) -> None:
    judged(lambda text: 0.95, Run(Stop(None, 10.0)))
    assert any("unroll 2" in c.text.decode() for c in compiled)


@pytest.mark.parametrize(("verdict", "judgements"), [(PROVED, 3), (None, 6)])
def test_what_is_refused_before_its_proof_takes_no_place_of_what_is_proved(
    judged: Judging, monkeypatch: pytest.MonkeyPatch, verdict: Verdict | None, judgements: int
) -> None:
    def proved(_bench: Any, hopeful: Any, _proofs: Any, _rehearsals: Any) -> Iterator[Judgement]:
        for quick, _ in hopeful:
            yield replace(quick, stage=Outcome.NOT_FASTER, verdict=verdict)

    monkeypatch.setattr(variant_search, "prove_in_order", proved)
    assert len(judged(lambda text: 1.2 if "unroll" in text else 1.0)) == judgements


def test_the_fastest_is_named_when_none_is_fast_enough(judged: Judging) -> None:
    (only,) = judged(lambda text: 1.02 if "unroll 2\n  while" in text else 0.5)
    assert only.stage is Outcome.NOT_FASTER
    assert only.speedup == 1.02
    assert "the fastest of " in only.reason


def test_two_steps_are_done_at_once_where_four_are_too_many(judged: Judging) -> None:
    two = "// 2 steps at once"
    first = judged(lambda text: 1.14 if two in text else 1.0, shape=_only_last)[0]
    assert two in first.candidate.text.decode()


def test_two_steps_are_not_tried_where_four_gain(judged: Judging, compiled: list[Candidate]) -> None:
    judged(lambda text: 1.5 if "// 4 steps at once" in text else 1.0, shape=_only_last)
    assert not any(b"// 2 steps at once" in candidate.text for candidate in compiled)


def test_many_copies_are_tried_where_four_are_fewer_than_the_compiler_makes(judged: Judging) -> None:
    def speed(text: str) -> float:
        found = re.search(r"unroll (\d+)\n  while", text)
        return {2: 0.57, 4: 0.8, 16: 1.14, 32: 1.21}.get(int(found[1]) if found else 0, 1.0)

    first = judged(speed)[0]
    assert first.speedup == 1.21
    assert "restrict" not in first.candidate.text.decode()


def test_many_copies_are_tried_beside_a_form_that_gains(judged: Judging) -> None:
    def speed(text: str) -> float:
        copies = 0.8 if "unroll 4\n" in text else 1.14 if "unroll 16\n" in text else 1.0
        return copies if copies != 1.0 else 1.02 if "steps at once" in text else 1.0

    first = judged(speed, shape=_only_last)[0]
    assert first.speedup == 1.14


def test_as_many_copies_are_not_tried_of_a_loop_that_has_no_use_for_sixteen(
    judged: Judging, compiled: list[Candidate]
) -> None:
    judged(lambda text: 1.2 if "unroll 8\n  while" in text else 1.1 if "unroll" in text else 1.0)
    assert not any(b"unroll 32" in candidate.text for candidate in compiled)


def test_steps_that_are_written_out_are_not_doubled_beyond_sixteen(
    judged: Judging, compiled: list[Candidate]
) -> None:
    judged(
        lambda text: 1.5 if "// 16 steps at once" in text else 1.2 if "at once" in text else 1.0,
        shape=_only_last,
    )
    texts = [candidate.text for candidate in compiled]
    assert any(b"// 16 steps at once" in text for text in texts)
    assert not any(b"// 32 steps at once" in text for text in texts)


@pytest.mark.parametrize(
    ("factor", "loop"), [(4, "\n  for (int i"), (16, "\n  for (int i"), (4, "\n    for (int j")]
)
def test_a_loop_around_one_that_the_compiler_unrolled_is_told_alone_and_more(
    judged: Judging, factor: int, loop: str
) -> None:
    def speed(text: str) -> float:
        return 1.4 if f"#pragma unroll {factor}{loop}" in text and text.count("#pragma") == 1 else 1.01

    assert judged(speed, shape=lambda: nest({(3, 3): 1.0, (5,): 95.0, (3,): 4.0}, {2: 0}))[0].speedup == 1.4


@pytest.mark.parametrize("best", ["#pragma unroll 16\n  while", "#pragma unroll 2\n  while", "nothing"])
def test_few_texts_are_compiled(judged: Judging, compiled: list[Candidate], best: str) -> None:
    first = judged(lambda text: 1.2 if best in text else 1.005 if "16" in best else 0.95)[0]
    assert best in first.candidate.text.decode() or best == "nothing"
    assert len(compiled) <= 14


STEP, VECTORS = "vectorize_width(1) interleave_count(4)", "vectorize_width(4) interleave_count(1)"


@pytest.mark.parametrize("vectors", [True, False])
def test_steps_side_by_side_are_tried_where_the_compiler_made_something_of_vectors(
    judged: Judging, compiled: list[Candidate], *, vectors: bool
) -> None:
    """Both need that it can show the steps to be independent."""

    def speed(text: str) -> float:
        return 1.3 if STEP in text else 1.1 if VECTORS in text else 1.0

    def same(text: str) -> bool:
        return not vectors and (STEP in text or VECTORS in text)

    found = judged(speed, shape=_only_last, same_code=same)
    texts = [candidate.text.decode() for candidate in compiled]
    assert any(STEP in text for text in texts) is vectors
    assert sum(VECTORS in text for text in texts) == 1 if not vectors else found[0].speedup == 1.3


@pytest.mark.parametrize(("registers", "tried"), [(40, False), (100, True), (None, True)])
def test_launch_bounds_that_change_nothing_alone_are_told_with_more_where_registers_are_many(
    judged: Judging, compiled: list[Candidate], registers: int | None, *, tried: bool
) -> None:
    def speed(text: str) -> float:
        return 1.5 if "#pragma unroll 8\n  while" in text else 1.0

    judged(speed, registers=registers, same_code=lambda text: "bounds" in text and "#pragma" not in text)
    assert (
        any("bounds" in text and "#pragma" in text for text in (c.text.decode() for c in compiled)) is tried
    )


@pytest.mark.parametrize(
    ("bounds", "vgprs", "spills", "tried"),
    [
        ("256", 40, 0, False),
        ("256, 9", 40, 0, False),
        ("64", 40, 0, True),  # one wave waits for no other one
        ("256", 100, 0, True),
        ("256", 40, 3, True),  # it has few because it may have no more
    ],
)
def test_launch_bounds_are_told_alone_where_a_kernel_has_a_use_for_them(
    judged: Judging, compiled: list[Candidate], bounds: str, vgprs: int, spills: int, *, tried: bool
) -> None:
    def shape() -> Variants:
        found = _three_loops()
        assert found.facts.needs is not None
        needs = replace(found.facts.needs, vgprs=vgprs, vgpr_spills=spills)
        return replace(found, bounds=(bounds,), facts=replace(found.facts, needs=needs))

    judged(lambda _: 1.0, shape=shape, registers=vgprs)
    texts = [candidate.text.decode() for candidate in compiled]
    assert any("bounds" in text and "#pragma" not in text for text in texts) is tried


def test_a_hint_that_cannot_be_written_leaves_the_others(
    judged: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Variants.candidate

    def candidate(self: Variants, hints: Hints) -> Candidate:
        if any(hint.form == "written" for _, hint in hints.loops):
            raise ValueError("no such node")
        return written(self, hints)

    monkeypatch.setattr(Variants, "candidate", candidate)
    best = judged(lambda text: 1.5 if "#pragma unroll 4" in text else 1.0)[0]
    assert best.accepted
    assert "#pragma unroll 4" in best.candidate.text.decode()


@pytest.mark.parametrize(("written", "chosen"), [(1.53, False), (1.65, True)])
def test_steps_that_are_written_out_have_to_gain_more_than_a_pragma(
    judged: Judging, written: float, chosen: bool
) -> None:
    first = judged(lambda text: written if "at once" in text else 1.5 if "#pragma unroll 4" in text else 1.0)[
        0
    ]
    assert ("at once" in first.candidate.text.decode()) == chosen
