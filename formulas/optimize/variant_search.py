"""The search over what a compiler can be told of a kernel: likely hints timed, then those next to the best, then pairs.

Takes a bench, the variants of its kernel and rewrites that no finding has asked for, gives judgements, fastest first,
each proved when it is asked for. No formula names a metric here: only the time counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from hipscope.analysis.errors import Cancelled
from hipscope.analysis.profile import Resources
from hipscope.analysis.run import Run
from hipscope.analysis.system.cores import usable_cores
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.compile_sweep import Admitted, sweep
from hipscope.formulas.judge.judge import Judgement, time_candidate, weigh
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.selection import PROVED, Proofs, prove_in_order, unfinished
from hipscope.formulas.judge.whole_program import Rehearsals
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.hints.variants import (
    NAME,
    Hints,
    LoopHint,
    Variants,
    file_variants,
    function_variants,
    variants_of,
)
from hipscope.formulas.propose.hints.written_steps import can_be_written

_LOOP_HINTS = (
    LoopHint(4),
    LoopHint(4, "written"),
    LoopHint(16, "refill"),
    LoopHint(4, "vectors"),
)
_TOGETHER = LoopHint(4, "step")  # which the compiler can do only where it can do vectors
_AGAIN = (LoopHint(4), LoopHint(4, "written"))  # of a kernel that was rewritten: the others have lost before
_LARGER = (8, 16)
_LARGEST = 32
_SMALLER = (LoopHint(2), LoopHint(1))
_MANY = LoopHint(16)  # where four copies lose to more that the compiler makes unasked
_FEWER_STEPS = LoopHint(2, "written")  # of a loop that has less than four
_ALL_LOOPS = (LoopHint(4), LoopHint(4, "written"))  # for all hot loops at the same time
_MOST_TIMED = 16
_MOST_PAIRS = 3  # for each partner
_MOST_PROVED = 3
_MOST_JUDGED = 6  # with those that are refused before their proof
_PARTNERS = 2  # of the timed variants, the fastest this many are tried with more
_SECONDS = 60.0  # after that no further variant is begun to be timed, the likely ones come first
_SHARE = 0.25  # of the time that a limit leaves: the rest is for the other variants and the proof
_FEW_REGISTERS = 64  # of a thread: half of what the largest workgroup leaves it
_WAVE = 64  # threads
_NEAR = 0.9  # times as fast: what loses more than that alone is no partner
_WRITTEN_PAYS = 5  # hundredths of the time
_PAYS = 1.01  # times as fast: where nothing gains that much, one partner is enough


@dataclass(frozen=True)
class _Timed:
    """One variant that was timed: what is told of which text; both None for a recipe's rewrite."""

    variants: Variants | None
    hints: Hints | None
    quick: Judgement
    admitted: Admitted

    @property
    def speedup(self) -> float:
        return self.quick.speedup or 0.0


@dataclass(frozen=True)
class _Tried:
    """One variant that is written; without `variants` and `hints` a recipe's rewrite."""

    variants: Variants | None
    hints: Hints | None
    candidate: Candidate


def judge_variants(
    bench: Bench,
    texts: Sequence[Variants],
    run: Run,
    *,
    recipes: Sequence[Candidate] = (),
    rehearsals: Rehearsals | None = None,
    again: bool = False,
) -> Iterator[Judgement]:
    """The variants of these texts and the `recipes`' rewrites that the gate would take, fastest first, each proved when
    asked for; the fastest when it takes none. `again`: the kernel's text is that of a rewrite, so fewer variants are
    worth a compile.

    Raises as `judge_candidate` does.
    """
    dropped: list[Judgement] = []
    forms = _AGAIN if again else _LOOP_HINTS
    told = [one for variants in texts for one in _written(variants, _first(variants, forms), dropped)]
    first = [*(_Tried(None, None, candidate) for candidate in recipes), *told]
    timed: list[_Timed] = []
    try:
        _time(bench, first, run, timed, dropped)
        for more in (_next_to_best, _paired):
            if _proof_comes_first(bench, timed, run):
                break
            told = []
            for variants in texts:
                own = [one for one in timed if one.variants is variants]
                told += _written(variants, more(variants, own), dropped)
            _time(bench, told, run, timed, dropped)
    except Cancelled:
        yield from (unfinished(t.quick, PROVED) for t in timed if t.quick.accepted)
        raise
    hopeful = sorted((t for t in timed if t.quick.accepted), key=_preference)[:_MOST_JUDGED]
    if hopeful and bench.part is not None:
        timed = _timed_in_full(bench, hopeful[:_MOST_PROVED], run)
        hopeful = sorted((t for t in timed if t.quick.accepted), key=_preference)
    if not timed and dropped:
        yield min(dropped, key=lambda judgement: judgement.stage.rank)
    if timed and not hopeful:
        best = max(timed, key=lambda t: t.speedup).quick
        yield replace(best, reason=f"{best.reason} It is the fastest of {len(timed)} variants.")
    if any(not t.admitted.candidate.exact for t in hopeful):
        bench.prepare_precision()
    proved = 0
    with Proofs(bench, run) as proofs:
        for one in prove_in_order(bench, [(t.quick, t.admitted) for t in hopeful], proofs, rehearsals):
            yield one
            proved += one.verdict is not None
            if proved == _MOST_PROVED:
                return


def variants_around(bench: Bench) -> list[Variants]:
    """What can be told of the kernel, of the functions that it calls, and of loops in other files, hottest first."""
    kernels = [k for k in bench.session.profile.kernels if k.mangled in bench.symbols]
    found = [variants_of(bench.source, bench.original, bench.kernel, kernels, bench.facts)]
    found += [
        variants
        for function in bench.functions
        if not (function.fixed or function.host)
        and (variants := function_variants(function, bench.source, kernels)) is not None
    ]
    for file in bench.other_files:
        variants = file_variants(file, bench.run.texts.needed(file), bench.kernel, kernels)
        found += [variants] if variants is not None else []
    return sorted(found, key=lambda variants: -variants.hottest)


def _timed_in_full(bench: Bench, ranked: Sequence[_Timed], run: Run) -> list[_Timed]:
    """Those that were the fastest, hints on a part of the device. Raises Cancelled."""
    run.say(f"timing the {len(ranked)} fastest variants in full")

    def measured(numbered: tuple[int, _Timed]) -> _Timed | None:
        number, one = numbered
        if one.hints is None:
            return one
        admitted = one.admitted
        after = time_candidate(
            bench, admitted.candidate, admitted.compiled, run, work=f"variant_{number}_in_full"
        )
        if isinstance(after, str):
            return None
        quick = weigh(bench, admitted.candidate, None, after, None)
        if quick.accepted:
            bench.ahead.reference.begin()
        return replace(one, quick=quick)

    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        return [one for one in pool.map(measured, enumerate(ranked)) if one is not None]


def _proof_comes_first(bench: Bench, timed: Sequence[_Timed], run: Run) -> bool:
    """Whether a time limit leaves no more than the proof of what is fast enough already, and its program, will take."""
    hopeful = any(t.quick.accepted for t in timed)
    return hopeful and run.seconds_left < bench.seconds_to_verify


def _written(variants: Variants, wanted: Sequence[Hints], dropped: list[Judgement]) -> list[_Tried]:
    """The texts of these hints. One that cannot be written, by a defect of hipscope, is `dropped`; the others count."""
    found: list[_Tried] = []
    for hints in wanted:
        try:
            found.append(_Tried(variants, hints, variants.candidate(hints)))
        except Exception as error:
            nothing = Candidate(recipe=NAME, title="", text=b"", expected="")
            reason = (
                f"Not tried: writing it brings out a defect of hipscope ({type(error).__name__}: {error})."
            )
            dropped.append(Judgement(nothing, Outcome.CANNOT_JUDGE, reason))
    return found


def _preference(one: _Timed) -> tuple[int, bool, int, int]:
    """The fastest first; of those within a hundredth what rounds alike, assumes least, and then changes least.

    Steps that are written out are read and kept by a person, so each such loop has to gain more than a pragma does.
    """
    hundredths, candidate = round(100 * math.log(one.speedup)), one.admitted.candidate
    loops = one.hints.loops if one.hints is not None else ()
    hundredths -= _WRITTEN_PAYS * sum(hint.form in ("written", "refill") for _, hint in loops)
    changes = len(loops) if one.hints is not None else 1
    return -hundredths, not candidate.exact, len(candidate.assumes), changes


def _time(
    bench: Bench,
    tried: Sequence[_Tried],
    run: Run,
    timed: list[_Timed],
    dropped: list[Judgement],
) -> None:
    """Compile these and add them to those that are `timed`, as many as the time allows; what another one has compiled
    to is left out. What goes no further is added to `dropped`. Raises Cancelled.
    """
    if not tried:
        return
    by_text = {one.candidate.text: one for one in reversed(tried)}
    known = [t.admitted for t in timed]
    swept = sweep(bench, [one.candidate for one in reversed(by_text.values())], run, known=known)
    dropped += swept.dropped
    admitted = swept.kept[:_MOST_TIMED]
    if not admitted:
        return
    run.say(f"timing {len(admitted)} variants of `{bench.kernel.name}`")

    begun, seconds = time.monotonic(), min(_SECONDS, run.seconds_left * _SHARE)
    so_far = [*timed]

    def measured(numbered: tuple[int, Admitted]) -> _Timed | None:
        number, one = numbered
        if time.monotonic() - begun > seconds or _proof_comes_first(bench, so_far, run):
            return None
        told, work = by_text[one.candidate.text], f"variant_{number}"
        # What a recipe rewrites may change what is read again; a part of the device has a whole L2.
        part = bench.part if told.hints is not None else None
        after = time_candidate(bench, one.candidate, one.compiled, run, work=work, part=part)
        if isinstance(after, str):
            return None
        quick = weigh(bench, one.candidate, None, after, None, part=part)
        if quick.accepted and part is None:
            bench.ahead.reference.begin()  # it will be proved, or one that is faster
        found = _Timed(told.variants, told.hints, quick, one)
        so_far.append(found)
        return found

    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        for one in pool.map(measured, enumerate(admitted, len(timed))):
            if one is not None:
                timed.append(one)  # noqa: PERF401  # the search may end between two of them


def _first(variants: Variants, hints: Sequence[LoopHint]) -> list[Hints]:
    """Each hint, likely ones first. Loops are told with `__restrict__` where that may be said: without it, stores hold
    the loads of other steps back.
    """
    promise, loops, needs = variants.can_restrict, range(len(variants.loops)), variants.facts.needs
    registers = None if needs is None or needs.vgpr_spills else needs.vgprs
    found = [Hints(restrict=True)] if promise else []
    found += [Hints(bounds=text) for text in variants.bounds if _bounds_matter(text, registers)]
    found += [
        Hints(((number, hint),), promise)
        for number in variants.leading
        for hint in hints
        if _fits(variants, number, hint)
    ]
    for hint in _ALL_LOOPS if len(loops) > 1 else ():
        if told := tuple((number, hint) for number in loops if _fits(variants, number, hint)):
            found.append(Hints(told, promise))
    return list(dict.fromkeys(found))


def _next_to_best(variants: Variants, timed: Sequence[_Timed]) -> list[Hints]:
    """More copies in the form that is the fastest of the hottest loop; where every form loses, fewer. Steps together
    where the compiler made something of vectors.

    Two steps at once where four gain nothing: a loop of two or three steps never comes to them. Many copies where four
    are far slower than what the compiler does unasked.
    """
    told = [
        (t.speedup, *t.hints.loops[0], t.hints.restrict)
        for t in timed
        if t.hints is not None and len(t.hints.loops) == 1 and t.hints.loops[0][0] in variants.leading
    ]
    if not variants.loops:
        return []
    inner = variants.leading[-1]
    speed, number, best, promise = max(
        told, key=lambda one: one[0], default=(0.0, inner, LoopHint(4), variants.can_restrict)
    )
    more = tuple(replace(best, factor=n) for n in _LARGER if best.form != "vectors")
    if speed < 1:
        number, more = inner, _SMALLER
    alone = [(gain, hint) for gain, loop, hint, _ in told if loop == number]
    if any(hint.form == "written" and gain < _PAYS for gain, hint in alone):
        more = (*more, _FEWER_STEPS)
    if any(hint == LoopHint(4) and gain < _NEAR for gain, hint in alone):
        more = (*more, _MANY)
    together = [(loop, _TOGETHER) for _, loop, hint, _ in told if hint.form == "vectors"]
    return [
        Hints(((loop, hint),), promise)
        for loop, hint in [*((number, hint) for hint in more), *together]
        if _fits(variants, loop, hint)
    ]


def _paired(variants: Variants, timed: Sequence[_Timed]) -> list[Hints]:
    """More for the fastest ones: the launch bounds, the loops that are left as they are, less promised, more copies.

    But for what the compiler made nothing of before.
    """
    told_more = [(t, t.hints) for t in timed if t.hints is not None and t.speedup >= _NEAR]
    partners = _PARTNERS if any(one.speedup >= _PAYS for one, _ in told_more) else 1
    fastest = sorted(told_more, key=lambda told: -told[0].speedup)[:partners]
    found = [h for _, hints in fastest[:1] for h in _many_more(hints)]
    forms = [h for h in (*_LOOP_HINTS[:-1], _TOGETHER, _LOOP_HINTS[-1]) if _changes_code(h, timed)]
    for one, hints in fastest:
        told = dict(hints.loops)
        more = [replace(hints, bounds=b) for b in _also_bounds(variants, one, hints, timed)[:1]]
        if variants.can_restrict and (told or not hints.restrict):
            more.append(replace(hints, restrict=not hints.restrict))
        more += [
            replace(hints, loops=(*hints.loops, (number, hint)))
            for hint in forms
            for number in range(len(variants.loops))
            if number not in told and _fits(variants, number, hint)
        ]
        found += more[:_MOST_PAIRS]
    tried = {t.hints for t in timed}
    return [h for h in dict.fromkeys(found) if h not in tried]


def _changes_code(hint: LoopHint, timed: Sequence[_Timed]) -> bool:
    """Whether the compiler may make something of a hint: of steps side by side, if it did so of some loop alone."""
    if hint.form not in ("vectors", "step"):
        return True
    alone = [t.hints.loops[0][1] for t in timed if t.hints is not None and len(t.hints.loops) == 1]
    return any(told.form == hint.form for told in alone)


def _bounds_matter(bounds: str, registers: int | None) -> bool:
    """Whether launch bounds may change the code of a kernel that needs so many registers of a thread: it has no use for
    more, and waits for no other wave where there is one.
    """
    threads = bounds.split(",")[0].strip()
    return registers is None or registers > _FEW_REGISTERS or (threads.isdigit() and int(threads) <= _WAVE)


def _also_bounds(variants: Variants, one: _Timed, hints: Hints, timed: Sequence[_Timed]) -> list[str]:
    """The launch bounds that may change a variant: where it needs few registers, they changed the kernel as it is."""
    if hints.bounds is not None:
        return []
    after = one.quick.after
    needed = None if after is None else max(_registers_of(k.resources) for k in after.profile.kernels)
    alone = {t.hints.bounds for t in timed if t.hints is not None and not t.hints.loops}
    few = needed is not None and needed <= _FEW_REGISTERS
    return [b for b in variants.bounds if _bounds_matter(b, needed) and not (few and b not in alone)]


def _registers_of(needed: Resources) -> int:
    return (needed.vgprs or 0) + (needed.agprs or 0)


def _many_more(hints: Hints) -> list[Hints]:
    """Twice the copies of a loop that has gone as far as it is tried otherwise, by itself; first without a promise.

    Not of steps that are written out: twice their registers leave later rounds no room.
    """
    if [hint for _, hint in hints.loops] != [LoopHint(max(_LARGER))]:
        return []
    loops = tuple((number, replace(hint, factor=_LARGEST)) for number, hint in hints.loops)
    return [replace(hints, loops=loops, restrict=promised) for promised in sorted({False, hints.restrict})]


def _fits(variants: Variants, number: int, hint: LoopHint) -> bool:
    """Beside copies every form may round otherwise, or order memory: it asks for a proof, and so for its function."""
    loop = variants.loops[number]
    if hint.form == "written":
        return loop.counted is not None and can_be_written(variants.kernel, loop.counted, hint.factor)
    if hint.form == "refill":
        return variants.split(number, hint) is not None
    return loop.inside or hint.form == "copies"
