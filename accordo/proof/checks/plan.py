"""Which replays of a candidate are made, in which orders of waves, over which poison, and which under the sanitizers.

Takes a candidate and the reference's runs, gives a Plan for each dispatch; nothing is run here but the reference, on
inputs with numbers that only the candidate names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipscope.accordo.compare.buffers import Errors
from hipscope.accordo.dispatch import element_types
from hipscope.accordo.dispatch.access_map import ATOMIC
from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.code_properties import largest_workgroup, meeting_places
from hipscope.accordo.model.verdict import Trial
from hipscope.accordo.reference.beyond_coverage import never_beyond
from hipscope.accordo.reference.held_runs import held_orders
from hipscope.accordo.reference.prepare import CAPTURED, Prepared, Reference
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.trials import Planned, Reason, Trials, plan_beyond, plan_crossed, plan_named
from hipscope.accordo.replay.poison import POISONS, Poison, fill
from hipscope.accordo.replay.replay import HeldOrder, ReplayRequest, patience
from hipscope.accordo.trials.code_constants import NONE, Named, named_in
from hipscope.accordo.trials.code_limits import CodeLimit, halved_away, own_limits
from hipscope.accordo.trials.crossed_arguments import other_conditions
from hipscope.accordo.trials.other_launch import Relaunch, as_it_is
from hipscope.analysis.run import Run

_SEEDS = (3, 4)
_NATURAL = 0  # workgroups and waves in their order, each until it ends or waits
_MORE_SEEDS = (5, 6, 7)
RUNS_COMPARED = len(_SEEDS) + len(_MORE_SEEDS)  # of the candidate, on the captured inputs


@dataclass
class Proof:
    """One candidate on its way through the checks: what it is held against, and what was seen so far."""

    reference: Reference
    candidate: Path
    exact: bool
    run: Run
    folder: Path
    trials: list[Trial] = field(default_factory=list)
    errors: Errors = field(default_factory=Errors)
    bits: dict[int, tuple[str, ...]] = field(default_factory=dict)  # dispatch -> digests of its first run
    terms: int = 1
    notes: list[str] = field(default_factory=list)
    unproved: list[str] = field(default_factory=list)
    relaunch: Relaunch = as_it_is

    def on(self, *defences: str) -> bool:
        """True unless all of these defences are switched off."""
        return not self.reference.settings.without.issuperset(defences)


def with_named(proof: Proof) -> list[Prepared]:
    """What the reference was tried on, and inputs and launches of which only the candidate's code says why."""
    reference, settings = proof.reference, proof.reference.settings
    first = reference.prepared[0].dispatch
    own = named_in(proof.candidate, settings.objdump)
    limits: tuple[CodeLimit, ...] = ()
    if proof.on("larger_sizes"):
        limits = own_limits(proof.candidate, first.code_object, settings.objdump, first.kernel)
    known = [_with_own(proof, one, number, own, limits) for number, one in enumerate(reference.prepared)]
    if limits:
        runs = [run for prepared in known for run in prepared.runs]
        proof.unproved += never_beyond(limits, runs, parameters_of(proof, first))
    return known


def parameters_of(proof: Proof, dispatch: CapturedDispatch) -> list[str]:
    """The types of the kernel's parameters."""
    name = element_types.demangle(dispatch.kernel, proof.reference.settings.cxxfilt)
    return element_types.argument_types(name) or list(proof.reference.signature.types)


def trials_of(proof: Proof, prepared: Prepared) -> Trials:
    """What runs further trials of the reference on a launch."""
    reference, kernel = proof.reference, prepared.dispatch.kernel
    name = element_types.demangle(kernel, reference.settings.cxxfilt)
    types = reference.signature.pointees(kernel, name)
    return Trials(prepared.runs[0], types, reference.settings, reference.signature, proof.run.cancel)


def _with_own(
    proof: Proof, prepared: Prepared, number: int, own: Named, limits: tuple[CodeLimit, ...]
) -> Prepared:
    """One launch with what is tried because of numbers and widths that only the candidate's code has."""
    reference, dispatch, part = proof.reference, prepared.dispatch, prepared.repeated
    if dispatch.variant:
        return prepared
    settings, folder = reference.settings, proof.folder / f"named_{number}"
    parameters = parameters_of(proof, dispatch)
    named = own.without(named_in(dispatch.code_object, settings.objdump))
    planned = plan_named(part, parameters, named, limits, prepared.runs, settings, folder)
    conditions = other_conditions(proof.candidate, dispatch.code_object, settings.objdump, dispatch.kernel)
    tried = prepared.runs
    searched = (*limits, *halved_away(limits))
    beyond = plan_beyond(part, parameters, searched, conditions or NONE, tried, settings, folder / "beyond")
    if beyond and proof.relaunch is not as_it_is:
        beyond = []
    planned += [Planned(one.defence, one.label, one.dispatch, one.inputs) for one in beyond]
    if conditions is not None:
        planned += plan_crossed(part, parameters, conditions, tried, settings, folder / "crossed")
    seen: list[ReferenceRun | Reason] = []
    if planned:
        seen = trials_of(proof, prepared).run(planned, folder)
    runs = (*prepared.runs, *(run for run in seen if isinstance(run, ReferenceRun)))
    dropped = (
        Trial(dispatch=dispatch.id, inputs=one.label, outcome="dropped", detail=one.text)
        for one in seen
        if isinstance(one, Reason)
    )
    return replace(prepared, runs=runs, dropped=(*prepared.dropped, *dropped))


@dataclass(frozen=True)
class Turn:
    """One run of the candidate on what the reference ran on: the order of the waves and the poison.

    `checked`: under the sanitizers. `traced`: with a record of what it accesses. `held`: waves are stopped.
    """

    run: ReferenceRun
    order: int
    poison: Poison
    checked: bool
    traced: bool
    held: HeldOrder | None = None


@dataclass(frozen=True)
class Plan:
    """All replays of the candidate on one dispatch, by the check that asks for them."""

    prepared: Prepared
    captured: tuple[tuple[Turn, ReplayRequest], ...]
    others: tuple[tuple[Turn, ReplayRequest], ...]
    held: tuple[tuple[Turn, ReplayRequest], ...]
    repeats: tuple[ReplayRequest, ...]


def plan_runs(proof: Proof, prepared: Prepared, number: int) -> Plan:
    """What is tried on the dispatch of that number."""
    settings, repeated = proof.reference.settings, prepared.repeated
    runs = [r for r in prepared.runs if allowed(proof, r)]
    orders = range(len(_SEEDS)) if proof.on("other_order") else (0,)
    check = bool(settings.sanitize)
    # Of the runs on what was recorded the last one is looked at from all sides, and the first one is as the program's.
    captured = [
        Turn(prepared.runs[0], order, POISONS[order], check and order == orders[-1], order == orders[-1])
        for order in orders
    ]
    others = [
        Turn(
            run,
            n % len(_SEEDS),
            POISONS[n % len(POISONS)],
            check and run.inputs is None,
            n % len(_SEEDS) == 0,
        )
        for n, run in enumerate(runs[1:], 1)
    ]

    def turns(listed: Sequence[Turn], name: str) -> tuple[tuple[Turn, ReplayRequest], ...]:
        return tuple((turn, _turned(proof, turn, f"{name}_{number}_{n}")) for n, turn in enumerate(listed))

    again: tuple[int, ...] = ()
    if proof.on("repeats") and repeated.same_bits and not prepared.dispatch.variant:
        # The first runs on the captured launch are among those above.
        again = _MORE_SEEDS if repeated is prepared.runs[0] else _SEEDS + _MORE_SEEDS
    return Plan(
        prepared,
        turns(captured, "captured"),
        turns(others, "other"),
        _held(proof, prepared, number),
        tuple(
            _request(proof, repeated, seed, POISONS[-1 - n % len(POISONS)], f"repeat_{number}_{n}")
            for n, seed in enumerate(again)
        ),
    )


def _held(proof: Proof, prepared: Prepared, number: int) -> tuple[tuple[Turn, ReplayRequest], ...]:
    """The runs in which waves are stopped: of code that reaches other workgroups."""
    run, seconds = prepared.repeated, prepared.held_s
    if seconds is None or not allowed(proof, run):
        return ()
    places = meeting_places(proof.candidate, proof.reference.settings.objdump, run.dispatch.kernel)
    found = []
    for n, order in enumerate(held_orders(places)):
        turn = Turn(run, 1, POISONS[n % len(POISONS)], checked=False, traced=False, held=order)
        request = _request(proof, run, _NATURAL, turn.poison, f"held_{number}_{n}")
        found.append((turn, replace(request, held=order, timeout_s=seconds)))
    return tuple(found)


def allowed(proof: Proof, run: ReferenceRun) -> bool:
    """Whether the candidate may be launched so; what was recorded it must be able to do, whatever it says."""
    if proof.relaunch is not as_it_is:
        return proof.relaunch(run.dispatch) is not None
    recorded = max(math.prod(p.dispatch.workgroup) for p in proof.reference.prepared)
    size = math.prod(run.dispatch.workgroup)
    return size <= recorded or size <= largest_workgroup(proof.candidate, run.dispatch.kernel)


def _turned(proof: Proof, turn: Turn, name: str) -> ReplayRequest:
    # The second order on the captured inputs is the natural one: what is checked is slow when it is interleaved.
    seed = _NATURAL if turn.checked and turn.run.label == CAPTURED else _SEEDS[turn.order]
    made = _request(proof, turn.run, seed, turn.poison, name, traced=is_traced(proof, turn))
    return replace(made, sanitize=proof.reference.settings.sanitize) if turn.checked else made


def in_order(plans: Sequence[Plan]) -> list[ReplayRequest]:
    """What was recorded comes first: most wrong candidates are wrong there."""
    return [
        *(request for plan in plans for _, request in plan.captured),
        *(request for plan in plans for _, request in plan.others),
        *(request for plan in plans for _, request in plan.held),
        *(request for plan in plans for request in plan.repeats),
    ]


def _request(
    proof: Proof, run: ReferenceRun, seed: int, poison: Poison, name: str, *, traced: bool = False
) -> ReplayRequest:
    chosen = poison if proof.on("poison_fillings") else poison.plain
    return ReplayRequest(
        proof.relaunch(run.dispatch) or run.dispatch,
        proof.candidate,
        proof.folder / name,
        seed=seed,
        poison=chosen.seed if proof.on("poison") else None,
        poison_mask=run.result.directory if proof.on("poison") else None,
        poison_fill=fill(chosen, run.pieces) if proof.on("poison") else None,
        inputs=run.inputs,
        trace_access=traced,
        timeout_s=patience(proof.reference.settings.tool, run.result),
    )


def is_traced(proof: Proof, turn: Turn) -> bool:
    """Whether a run records what it accesses, because a check wants to see it."""
    run = turn.run
    if run.inputs is not None or not turn.traced:
        return False
    if run.label == CAPTURED and proof.on("written_back"):
        return True
    return _has_atomics(run) and proof.on("lost_atomics")


def _has_atomics(run: ReferenceRun) -> bool:
    return any(access.any(ATOMIC) for access in run.access.values())
