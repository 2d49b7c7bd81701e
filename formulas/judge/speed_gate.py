"""The gate: is a kernel that was timed really better, for the promised reason, and what does it cost?

Takes what was measured before and after, gives a decision in words. Says nothing about whether results are right.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hipscope.analysis.metrics.occupancy import Occupancy, occupancy
from hipscope.analysis.profile import Kernel, Profile
from hipscope.formulas.base import MIN_SHARE, Formula, Objective, format_value
from hipscope.formulas.detect.registry import all_formulas, ask_formula, measure_one
from hipscope.formulas.judge.outcome import Outcome, Trade
from hipscope.formulas.judge.timed_replay import Measured, SpeedupRange
from hipscope.formulas.tables import THRESHOLDS

_MOVED = 0.97  # the objective's metric must become at least 3 % better
_WORSE = 1.10  # another metric that becomes worse than this is a part of the price
OTHERS_SLOWER = 1.03
# What other kernels may lose of the time that is saved: one that is short finds other data in the caches.
_SMALL_LOSS = 0.02


@dataclass(frozen=True)
class Decision:
    """Whether the gate opens, and the numbers. `metric` is that of the objective that moved, or of the main one: name,
    before, after.
    """

    stage: Outcome
    reason: str
    speedup: float
    metric: tuple[str, float | None, float | None] | None
    trades: tuple[Trade, ...]


def decide(
    before: Measured,
    after: Measured,
    formula: Formula | None,
    *,
    min_speedup: float,
    min_share: float = MIN_SHARE,
    proved: bool = True,
    others: Sequence[Formula] | None = None,
    where: str = "modelled",
) -> Decision:
    """Faster, and for the promised reason? `formula` None asks for speed only; `proved` only words the reason.

    `others` are the formulas of further findings that the rewrite answers: an objective of any of them counts. Where
    none moved, what the time is explained by may be the objective of another formula; the reason says so. None holds
    the rewrite to its formula, as a recipe, which is asked for each finding.
    `min_speedup` 0 leaves it to a GPU whether it is faster: no metric and no occupancy by the model stops it then.
    `where` the times are from, in words.
    """
    speedup = before.time_ns / after.time_ns if after.time_ns > 0 else 0.0
    before, after = _where_most_is_gained(before, after)
    moved, metric, aside = _reason(formula, others, before, after)
    times = f"{before.time_ns / 1e3:.4g} us before, {after.time_ns / 1e3:.4g} us after ({where})"
    gain = f"Faster ({speedup:.2f}x)" if speedup > 1 else f"{speedup:.2f}x as fast by the model"
    head = "Equivalent, but " if proved else "Not proved, because it is "

    def closed(stage: Outcome, reason: str) -> Decision:
        return Decision(stage, reason, speedup, metric, ())

    if speedup < min_speedup:
        word = "slower" if speedup < 0.9995 else "not fast enough" if speedup > 1.0005 else "not faster"
        return closed(
            Outcome.NOT_FASTER,
            f"{head}{word}: {speedup:.3f}x, at least {min_speedup:g}x is asked for ({times}).",
        )
    measured = (
        min_speedup == 0
    )  # by a GPU, later: then time decides, and what the model says beside it is told
    if metric is not None and not moved:
        stayed = f"{metric[0]} went from {_shown(metric[1])} to {_shown(metric[2])}"
        if not measured:
            return closed(Outcome.METRIC_NOT_MOVED, f"{gain}, but not for the reason it was made: {stayed}.")
        aside = f" Not for the reason it was made, by the model: {stayed}."
    cliff = occupancy_cliff(*(occupancy(m.kernel, m.profile.device) for m in (before, after)))
    if cliff is not None:
        if not measured:
            return closed(Outcome.OCCUPANCY_CLIFF, f"{gain}, but over an occupancy cliff: {cliff}.")
        aside += f" Over an occupancy cliff: {cliff}."
    return Decision(
        Outcome.ACCEPTED,
        f"{speedup:.2f}x as fast: {times}.{aside}",
        speedup,
        metric,
        _trades(before, after, formula, min_share),
    )


def depends_on_assumption(found: SpeedupRange, min_speedup: float, *, proved: bool = True) -> str | None:
    """Why a rewrite that the model calls faster is not offered: at an end of the constants' ranges it is slower.
    `proved` only words it.

    None where that takes errors of several constants, each at the end that is worse for it, and it is at least
    `min_speedup` times as fast when they err independently.
    """
    if found.low >= 1 or (found.independent is not None and found.independent >= min_speedup):
        return None
    head = f"{'Equivalent, but' if proved else 'Not proved, because'} whether it is faster depends on"
    ends = f"{found.low:.2f}x to {found.high:.2f}x over all ranges"
    if found.constant is None or found.alone is None:
        return f"{head} assumed constants of the model ({ends})."
    name, value = found.constant
    if found.alone >= 1:
        return (
            f"{head} assumed constants of the model: it is slower with several of them at ends of their "
            f"ranges, of which {name} at {value:g} counts most ({found.alone:.2f}x by itself, {ends})."
        )
    return f"{head} an assumed constant of the model: it is slower with {name} at {value:g} ({ends})."


def _reason(
    formula: Formula | None, others: Sequence[Formula] | None, before: Measured, after: Measured
) -> tuple[bool, tuple[str, float | None, float | None] | None, str]:
    """Whether some objective explains a gain, which one, and a sentence if the rewrite was made for another one."""
    moved, metric = _objective(formula, before, after)
    if moved or metric is None or others is None:
        return moved, metric, ""
    answered = [o for o in others if o != formula]
    for other in (*answered, *(o for o in all_formulas() if o.name != getattr(formula, "name", ""))):
        found, explains = _objective(other, before, after)
        if found and explains is not None:
            meant = (
                ""
                if other in answered
                else f" It was made for {metric[0]}, which stayed; it is explained by this:"
            )
            text = f"{meant} {explains[0]} went from {_shown(explains[1])} to {_shown(explains[2])}."
            return True, explains, text
    return False, metric, ""


def occupancy_cliff(before: Occupancy | None, after: Occupancy | None) -> str | None:
    """How much less work is on a SIMD at a time than before, where it is far less; None also when not known.

    It is counted by work-items: a launch whose workgroups have 4 of them has many waves, each a sixteenth full, and
    loses nothing with fewer waves that are full.
    """
    if before is None or after is None:
        return None
    was, now = before.usable * before.filled, after.usable * after.filled
    if now >= was * THRESHOLDS["gate.occupancy_cliff"]:
        return None
    kind = "full waves"
    if before.filled == after.filled:
        was, now, kind = before.usable, after.usable, "waves"
    return f"{_shown(now)} instead of {_shown(was)} {kind} per SIMD"


def trade_sentence(trade: Trade) -> str:
    """One trade in words."""
    if trade.before is None:
        text = f"what gets worse: {trade.metric} is now {_shown(trade.after)}"
    else:
        moved = "rises" if trade.after > trade.before else "falls"
        text = f"what gets worse: {trade.metric} {moved} from {_shown(trade.before)} to {_shown(trade.after)}"
    if trade.share is not None:
        text += f"; {trade.share:.0%} of the kernel's time is now at stake there ({trade.formula})"
    return text


def _where_most_is_gained(before: Measured, after: Measured) -> tuple[Measured, Measured]:
    """Both with the same instance of a template as their kernel: the one that explains most of what was gained.

    What is the longest one before may not be so after.
    """
    now = {k.mangled: k for k in after.profile.kernels}
    both = [(k, now[k.mangled]) for k in before.profile.kernels if k.mangled in now]
    if len(both) < 2:
        return before, after
    was, is_ = max(both, key=lambda pair: pair[0].time_ns - pair[1].time_ns)
    return replace(before, kernel=was), replace(after, kernel=is_)


def _objective(
    formula: Formula | None, before: Measured, after: Measured
) -> tuple[bool, tuple[str, float | None, float | None] | None]:
    """Whether an objective of the formula moved, and the one that did (the main one when none did)."""
    if formula is None or not formula.objectives:
        return False, None
    was, now = _measured(formula, before), _measured(formula, after)
    for objective in formula.objectives:
        name = objective.metric
        if _moved(was.get(name), now.get(name), objective):
            return True, (name, was[name], now.get(name))
    main = formula.objectives[0].metric
    return False, (main, was.get(main), now.get(main))


def _measured(formula: Formula, measured: Measured) -> Mapping[str, float]:
    return measure_one(formula, measured.kernel, measured.profile.device)


def _moved(before: float | None, after: float | None, objective: Objective) -> bool:
    now = after or 0.0  # what is not there any more is 0
    if before is None or now == before:  # 3 % less than 0 is 0
        return False
    return now * _MOVED >= before if objective.direction == "up" else now <= before * _MOVED


def _trades(
    before: Measured, after: Measured, formula: Formula | None, min_share: float
) -> tuple[Trade, ...]:
    """What became worse: another formula's metric, a bottleneck that was none, the occupancy."""
    found: list[Trade] = []
    for other in all_formulas():
        if formula is not None and other.name == formula.name:
            continue
        was, now = _measured(other, before), _measured(other, after)
        share = _share(after, other, min_share)
        new = share is not None and _share(before, other, min_share) is None
        for objective in other.objectives:
            name = objective.metric
            if objective.own:
                continue
            if name in now and (_worse(was.get(name), now[name], objective) or (new and name not in was)):
                found.append(
                    Trade(formula=other.name, metric=name, before=was.get(name), after=now[name], share=share)
                )
                break
    fitted, fits = before.occupancy, after.occupancy
    if fitted is not None and fits is not None and fits < fitted:
        found.append(Trade(formula="", metric="occupancy in waves per SIMD", before=fitted, after=fits))
    return tuple(found)


def _worse(was: float | None, now: float, objective: Objective) -> bool:
    if was is None:
        return False
    return now > was * _WORSE if objective.direction == "down" else now * _WORSE < was


def _share(measured: Measured, formula: Formula, min_share: float) -> float | None:
    """The largest share of time that the formula finds at stake, or None when it finds nothing worth reporting."""
    found = ask_formula(formula, measured.profile, measured.kernel, measured.texts)
    return max((f.share for f in found if f.share >= min_share), default=None)


def _shown(value: float | None) -> str:
    return "nothing recorded" if value is None else format_value(value, "")


def slower_kernels(
    old: Profile, new: Profile, rewritten: Collection[str], unsteady: Collection[str] = ()
) -> tuple[tuple[str, ...], bool]:
    """Sentences about the other kernels that become slower; and whether all that they lose is little beside the gain.

    Kernels that are `unsteady` do other work from run to run and may take longer.
    """
    slower, lost, saved = [], 0.0, 0.0
    for kernel in old.kernels:
        again = new.kernel(kernel.mangled)
        if again is None:
            continue
        more = _each_takes(again) - _each_takes(kernel)
        launches = min(len(kernel.dispatches), len(again.dispatches))
        if kernel.mangled in rewritten:
            saved -= more * launches
        elif kernel.mangled not in unsteady and more > (OTHERS_SLOWER - 1) * _each_takes(kernel):
            lost += more * launches
            times = f"{again.time_ns / 1e3:.4g} us, before {kernel.time_ns / 1e3:.4g} us"
            slower.append(f"Another kernel, {kernel.name}, becomes slower: {times}.")
    return tuple(slower), lost <= _SMALL_LOSS * saved


def _each_takes(kernel: Kernel) -> float:
    """Nanoseconds of its launches on average."""
    return kernel.time_ns / max(1, len(kernel.dispatches))
