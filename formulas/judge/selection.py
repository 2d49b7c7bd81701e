"""The recipes' candidates for one finding: the fastest that can be proved first, and no more is proved than needed.

Takes a bench and a finding, gives judgements one after another. All candidates are compiled first (`sweep`), then
timed side by side, because a timed replay costs a fraction of a proof; only those that the gate would take are proved,
in order of speed, when the caller asks for the next one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Self

from hipscope.accordo.model.verdict import Mismatch, Verdict
from hipscope.analysis.errors import Cancelled
from hipscope.analysis.run import Run
from hipscope.analysis.system.cores import usable_cores
from hipscope.analysis.system.process import Stop
from hipscope.formulas.base import Finding, Formula
from hipscope.formulas.facts.called_functions import CalledFunction
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.compile_sweep import Admitted, sweep
from hipscope.formulas.judge.judge import (
    Judgement,
    broken_configuration,
    depends_on_place,
    not_proved,
    over_ranges,
    prove,
    time_candidate,
    weigh,
    with_checked_times,
    with_proof,
)
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.whole_program import Rehearsals
from hipscope.formulas.propose.candidate import Advice, Candidate, Proposal, Refusal
from hipscope.formulas.propose.rule import Rule
from hipscope.formulas.propose.rules import (
    ask_recipe,
    further_recipes,
    recipes_for,
)

_COMPILED, TIMED, PROVED, IN_PROGRAM = (
    "it was compiled",
    "it was timed",
    "it was proved",
    "the whole program had run with it",
)
PASSED_OVER = "Passed over: another candidate was asked for."
_LOOK_SECONDS = 0.05
_LAST_PLACES = 1e-4  # of a float: the difference that a fused operation may make, summed up


@dataclass(frozen=True)
class Offers:
    """What the recipes say to one finding: candidates, and reasons for none."""

    single: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    advice: tuple[Advice, ...]


def ask_recipes(bench: Bench, finding: Finding) -> Offers:
    """Ask each recipe of the finding's formula; pure text work, nothing is compiled."""
    single: list[Candidate] = []
    refused: list[Refusal] = []
    advice: list[Advice] = []
    for recipe in recipes_for(finding.formula, approximate=bench.project.config.optimize.fast_math):
        answer = ask_recipe(recipe, bench.original, bench.kernel, finding, bench.facts)
        inside = _of_functions(bench, recipe, finding)
        single += inside.single
        advice += inside.advice
        answered = bool(inside.single or inside.advice)
        if isinstance(answer, Refusal):
            said = "; ".join([answer.reason, *(r.reason for r in inside.refused)])
            refused += [] if answered else [replace(answer, reason=said)]
        elif isinstance(answer, Advice):
            # What is advised of a function that was asked itself has its answer there.
            known = any(f"`{f.syntax.name}`" in answer.title for f in bench.functions)
            advice += [] if known or inside.single else [answer]
            said = "; ".join(r.reason for r in inside.refused)
            refused += [Refusal(answer.recipe, said)] if known and said else []
        else:
            single += answer
    return Offers(tuple(single), tuple(refused), tuple(advice))


def _of_functions(bench: Bench, recipe: Rule, finding: Finding | None) -> Offers:
    """What a recipe makes of the hot functions that the kernel calls."""
    single: list[Candidate] = []
    refused: list[Refusal] = []
    advice: list[Advice] = []
    for function in bench.functions if recipe.function else ():
        name = function.syntax.name
        at = finding if finding is not None and function.covers(finding.file, finding.line) else None
        answer = ask_recipe(recipe, function.source, function.syntax, at, function.facts)
        fixed = function.fixed or _not_for_the_host(recipe, function, answer)
        if fixed and not isinstance(answer, Refusal):
            refused.append(Refusal("", f"in `{name}`: {fixed}"))
        elif isinstance(answer, Refusal):
            reason = answer.reason.replace("the kernel itself", "it").replace("the kernel", "it")
            refused.append(replace(answer, reason=f"in `{name}`: {reason}"))
        elif isinstance(answer, Advice):
            advice.append(replace(answer, title=f"{answer.title} in `{name}`"))
        elif isinstance(answer, list):
            file = None if function.file == bench.source else function.file
            single += [
                replace(c, title=f"{c.title} in `{name}`", file=file, function=function.syntax)
                for c in answer
            ]
    return Offers(tuple(single), tuple(refused), tuple(advice))


def _not_for_the_host(recipe: Rule, function: CalledFunction, answer: Proposal) -> str:
    """Why an answer must leave a function alone that is the host's, too, as the end of a sentence; empty where not."""
    if recipe.device and "__host__" in function.syntax.attributes:
        return function.host or "it is compiled for the host, too"
    candidates = answer if recipe.any_caller and isinstance(answer, list) else ()
    same = bool(candidates) and all(c.exact and not c.assumes for c in candidates)
    return "" if same else function.host


def unasked_candidates(bench: Bench, asked: Collection[str]) -> list[Candidate]:
    """What the recipes of other formulas than those `asked` make of the kernel, each in its best form."""
    found: list[Candidate] = []
    for recipe in further_recipes(asked):
        answer = ask_recipe(recipe, bench.original, bench.kernel, None, bench.facts)
        if isinstance(answer, list):
            found += answer
        found += _of_functions(bench, recipe, None).single
    return found


def contest(
    bench: Bench,
    offers: Offers,
    formula: Formula | None,
    run: Run,
    *,
    rehearsals: Rehearsals | None = None,
) -> Iterator[Judgement]:
    """A judgement of each candidate: first those that drop out, then the hopeful ones, fastest first, each proved
    when it is asked for. At most `optimize.max_attempts` are replayed. While one is proved, `rehearsals` builds and
    runs the program with it. Raises as `judge_candidate` does.
    """
    if any(not candidate.exact for candidate in offers.single):
        bench.prepare_precision()
    try:
        swept = sweep(bench, offers.single, run)
    except Cancelled:
        yield from (unfinished(candidate, _COMPILED) for candidate in offers.single)
        raise
    yield from swept.dropped
    most = bench.project.config.optimize.max_attempts
    for one in swept.kept[most:]:
        reason = f"Not tried: at most {most} candidates are replayed."
        yield Judgement(one.candidate, Outcome.NOT_TRIED, reason)
    yield from _replayed(bench, swept.kept[:most], formula, rehearsals, run)


def _replayed(
    bench: Bench,
    tried: Sequence[Admitted],
    formula: Formula | None,
    rehearsals: Rehearsals | None,
    run: Run,
) -> Iterator[Judgement]:
    if not tried:
        return
    likely = len(tried) == 1 and cores_idle()
    if likely and rehearsals is not None:
        rehearsals.begin(tried[0].candidate.text, tried[0].candidate.file)
    run.say(f"timing {len(tried)} candidates" if len(tried) > 1 else "timing the candidate")
    with Proofs(bench, run) as proofs:
        if likely:  # its proof will be wanted, unless it turns out to be slow
            proofs.begin(tried[0])
        yield from _timed_and_proved(bench, tried, formula, rehearsals, proofs, run)


def cores_idle() -> bool:
    """Whether work that may turn out not to be needed takes no core from other work."""
    return os.getloadavg()[0] < (os.cpu_count() or 1) - 1


def _timed_and_proved(
    bench: Bench,
    tried: Sequence[Admitted],
    formula: Formula | None,
    rehearsals: Rehearsals | None,
    proofs: Proofs,
    run: Run,
) -> Iterator[Judgement]:
    hopes: list[Judgement] = []

    def timed(number: int, one: Admitted) -> Judgement | str | None:
        if hopes and run.seconds_left < bench.seconds_to_verify:
            return None
        after = time_candidate(bench, one.candidate, one.compiled, run, work=f"candidate_{number}")
        if isinstance(after, str):
            return after
        # Another's metric explains it, too.
        quick = weigh(bench, one.candidate, formula, after, None, others=())
        hopes.extend([quick] if quick.accepted else [])
        return quick

    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        jobs = [pool.submit(timed, number, one) for number, one in enumerate(tried)]
    hopeful = []
    cancelled = False
    for one, job in zip(tried, jobs, strict=True):
        try:
            quick = job.result()
        except Cancelled:
            yield unfinished(one.candidate, TIMED)
            cancelled = True
            continue
        if quick is None:
            yield unfinished(one.candidate, TIMED)
        elif isinstance(quick, str):
            proofs.drop(one)
            yield Judgement(one.candidate, Outcome.DIFFERENT, f"Not equivalent: {quick}.")
        elif quick.accepted:
            hopeful.append((quick, one))
        else:
            _give_up(one, proofs, rehearsals)
            yield quick
    fastest = sorted(hopeful, key=lambda found: -(found[0].speedup or 0.0))
    if cancelled:
        yield from (unfinished(quick, PROVED) for quick, _ in fastest)
        raise Cancelled
    yield from prove_in_order(bench, fastest, proofs, rehearsals)


def prove_in_order(
    bench: Bench,
    hopeful: Sequence[tuple[Judgement, Admitted]],
    proofs: Proofs,
    rehearsals: Rehearsals | None,
) -> Iterator[Judgement]:
    """Prove timed candidates, each when it is asked for, but for those whose gain the program cannot show. Raises
    Cancelled, after a judgement of each that is left.
    """
    for number, (quick, one) in enumerate(hopeful):
        if quick.after is not None and (why := bench.lost_gains.against(quick.after)) is not None:
            _give_up(one, proofs, rehearsals)
            yield replace(quick, stage=Outcome.NOT_FASTER, reason=why)
            continue
        if one.candidate.title in bench.passed_over:
            _give_up(one, proofs, rehearsals)
            yield replace(quick, stage=Outcome.TRIED_BEFORE, reason=PASSED_OVER)
            continue
        try:
            judgement = _proved(bench, quick, one, proofs, rehearsals)
        except Cancelled:
            yield from (unfinished(left, PROVED) for left, _ in hopeful[number:])
            raise
        yield judgement


def _give_up(one: Admitted, proofs: Proofs, rehearsals: Rehearsals | None) -> None:
    """End what was begun with a candidate: its results are not needed any more."""
    proofs.drop(one)
    if rehearsals is not None:
        rehearsals.drop(one.candidate.text)


def _proved(
    bench: Bench, quick: Judgement, one: Admitted, proofs: Proofs, rehearsals: Rehearsals | None
) -> Judgement:
    """The judgement of a timed candidate once it is proved; its program goes on only where it was. Raises Cancelled."""
    if rehearsals is not None:
        rehearsals.begin(one.candidate.text, one.candidate.file)
    proofs.begin(one)
    broken = broken_configuration(bench, one.candidate, bench.run)
    placed = depends_on_place(bench, one.candidate, one.compiled, bench.run) if broken is None else None
    if (why := broken or placed) is not None:
        _give_up(one, proofs, rehearsals)
        return Judgement(one.candidate, Outcome.NOT_COMPILED if broken else Outcome.REFUSED, why)
    # A few timed launches, while the proof is under way: it may not be needed.
    quick = over_ranges(bench, quick, one.compiled, bench.run)
    if not quick.accepted:
        _give_up(one, proofs, rehearsals)
        return quick
    verdict = proofs.finish(one)
    if one.candidate.exact and rounds_otherwise(verdict):
        # As many operations in the same order, but the compiler has fused others of them: double precision decides.
        bench.prepare_precision()
        one = replace(one, candidate=replace(one.candidate, exact=False))
        quick, verdict = replace(quick, candidate=one.candidate), proofs.finish(one)
    if verdict.equivalent:
        return with_proof(bench, with_checked_times(bench, quick, one.compiled, bench.run), verdict)
    if rehearsals is not None:
        rehearsals.drop(one.candidate.text)
    return not_proved(one.candidate, verdict)


def unfinished(tried: Judgement | Candidate, left: str) -> Judgement:
    """The judgement of a candidate that the end of the search came upon; `left` is what was still to be done."""
    if isinstance(tried, Candidate):
        return Judgement(tried, Outcome.ENDED, f"Not judged: the search ended before {left}.")
    speed = f" {tried.speedup:.2f}x as fast on the recorded launches;" if tried.speedup is not None else ""
    return replace(
        tried, stage=Outcome.ENDED, reason=f"Not judged to the end:{speed} the search ended before {left}."
    )


def rounds_otherwise(verdict: Verdict) -> bool:
    """Whether all that differs are floats, the first of them in their last places only."""
    return bool(verdict.mismatches) and all(_in_last_places(m) for m in verdict.mismatches)


def _in_last_places(found: Mismatch) -> bool:
    if found.kind != "wrong_value" or not found.element.startswith(("fp", "bf")):
        return False
    try:
        expected, got = float(found.expected), float(found.got)
    except ValueError:
        return False
    return abs(expected - got) <= _LAST_PLACES * abs(expected)


class Proofs:
    """Proofs, one after the other; one may begin before it is certain to be needed.

    Nothing of them outlives the `with` block.
    """

    def __init__(self, bench: Bench, run: Run) -> None:
        self._bench = bench
        self._run = run
        self._stop = Stop(run.cancel)
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._begun: dict[tuple[bytes, bool], tuple[Stop, Future[Verdict]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def begin(self, one: Admitted) -> None:
        """Prove this one, if that has not begun yet."""
        if _key(one) not in self._begun:
            stop = Stop(self._stop)
            self._begun[_key(one)] = stop, self._pool.submit(self._prove, one, stop)

    def drop(self, one: Admitted) -> None:
        """End its proof: the result is not needed any more."""
        if _key(one) in self._begun:
            self._begun[_key(one)][0].set()

    def finish(self, one: Admitted) -> Verdict:
        """The verdict on it. Raises Cancelled."""
        self.begin(one)
        return self._begun[_key(one)][1].result()

    def _prove(self, one: Admitted, stop: Stop) -> Verdict:
        reference = self._bench.ahead.reference.begin()
        while not reference.done():
            if stop.is_set():
                raise Cancelled
            wait([reference], timeout=_LOOK_SECONDS)
        return prove(self._bench, one.candidate, one.compiled, self._run.until(stop))


def _key(one: Admitted) -> tuple[bytes, bool]:
    return one.candidate.text, one.candidate.exact
