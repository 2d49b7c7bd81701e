"""The recipes' candidates for one finding: the fastest that can be proved first, and no more is proved than needed.

Takes a bench and a finding, gives judgements one after another. All candidates are compiled first (`sweep`), then
timed side by side, because a timed replay costs a fraction of a proof; only those that the gate would take are proved,
in order of speed, when the caller asks for the next one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hipscope.formulas.base import Finding, Formula
from hipscope.formulas.candidate import Advice, Candidate, Family, Refusal
from hipscope.formulas.judge import Bench, Judgement, Progress, not_proved, prove, time_candidate, weigh
from hipscope.formulas.program import Rehearsals
from hipscope.formulas.recipes import recipes_for
from hipscope.formulas.sweep import Admitted, sweep


@dataclass(frozen=True)
class Offers:
    """What the recipes say to one finding: single candidates, families to sweep, and reasons for none."""

    single: tuple[Candidate, ...]
    families: tuple[Family, ...]
    refused: tuple[Refusal, ...]
    advice: tuple[Advice, ...]


def ask_recipes(bench: Bench, finding: Finding) -> Offers:
    """Ask each recipe of the finding's formula; pure text work, nothing is compiled."""
    single: list[Candidate] = []
    families: list[Family] = []
    refused: list[Refusal] = []
    advice: list[Advice] = []
    for recipe in recipes_for(finding.formula, approximate=bench.project.config.optimize.fast_math):
        answer = recipe(bench.original, bench.kernel, finding, bench.facts)
        if isinstance(answer, Refusal):
            refused.append(answer)
        elif isinstance(answer, Advice):
            advice.append(answer)
        elif isinstance(answer, Family):
            families.append(answer)
        else:
            single += answer
    return Offers(tuple(single), tuple(families), tuple(refused), tuple(advice))


def contest(
    bench: Bench,
    offers: Offers,
    formula: Formula | None,
    *,
    rehearsals: Rehearsals | None = None,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> Iterator[Judgement]:
    """A judgement of each candidate: first those that drop out, then the hopeful ones, fastest first, each proved
    when it is asked for. At most `optimize.max_attempts` are replayed. While one is proved, `rehearsals` builds and
    runs the program with it. Raises as `judge_candidate` does.
    """
    listed = (*offers.single, *(c for family in offers.families for c in family.candidates))
    if any(not candidate.exact for candidate in listed):
        bench.prepare_precision()
    admitted: list[Admitted] = []
    for candidates, keep in [(offers.single, None), *((f.candidates, f.keep) for f in offers.families)]:
        if candidates:
            swept = sweep(bench, candidates, keep=keep, progress=progress, cancel=cancel)
            admitted += swept.kept
            yield from swept.dropped
    most = bench.project.config.optimize.max_attempts
    for one in admitted[most:]:
        yield Judgement(one.candidate, "not_tried", f"Not tried: at most {most} candidates are replayed.")
    yield from _replayed(bench, admitted[:most], formula, rehearsals, progress, cancel)


def _replayed(
    bench: Bench,
    admitted: Sequence[Admitted],
    formula: Formula | None,
    rehearsals: Rehearsals | None,
    progress: Progress,
    cancel: threading.Event | None,
) -> Iterator[Judgement]:
    if not admitted:
        return
    if len(admitted) == 1 and rehearsals is not None:
        rehearsals.begin(admitted[0].candidate.text)
    progress(f"timing {len(admitted)} candidates" if len(admitted) > 1 else "timing the candidate", None)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = [
            pool.submit(time_candidate, bench, one.compiled, work=f"candidate_{number}", cancel=cancel)
            for number, one in enumerate(admitted)
        ]
    hopeful = []
    for one, job in zip(admitted, jobs, strict=True):
        after = job.result()
        if isinstance(after, str):
            yield Judgement(one.candidate, "different", f"Not equivalent: {after}.")
            continue
        quick = weigh(bench, one.candidate, formula, after, None)
        if quick.accepted:
            hopeful.append((quick, one, after))
        else:
            if rehearsals is not None:
                rehearsals.drop(one.candidate.text)
            yield quick
    for _, one, after in sorted(hopeful, key=lambda found: -(found[0].speedup or 0.0)):
        if rehearsals is not None:
            rehearsals.begin(one.candidate.text)
        verdict = prove(bench, one.candidate, one.compiled, progress=progress, cancel=cancel)
        if verdict.equivalent:
            yield weigh(bench, one.candidate, formula, after, verdict)
        else:
            if rehearsals is not None:
                rehearsals.drop(one.candidate.text)
            yield not_proved(one.candidate, verdict)
