"""What the reference is tried on beside the captured launch: other inputs and other launches, and what it did there.

Takes the reference's run on the captured inputs, gives its runs on everything else, or says why it is not well defined
there. All trials are replayed side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hipscope.accordo.dispatch.access_map import READ, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.element_types import Pointees, pieces_of
from hipscope.accordo.dispatch.guessed_types import with_guesses
from hipscope.accordo.dispatch.replaced_buffers import replacement
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.dispatch.stored_numbers import with_stored_numbers
from hipscope.accordo.dispatch.writer import write_dispatch
from hipscope.accordo.model.defences import Defence
from hipscope.accordo.reference.run import (
    Access,
    OtherRun,
    Pieces,
    ReferenceRun,
    access_of,
    difference_of,
    floats_by_atomics,
    no_other_places,
    same_bits,
    unless_same,
    untyped_floats,
    variables_by_atomics,
    widen_spread,
)
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.reference.unspecified import NONE as NOTHING
from hipscope.accordo.reference.unspecified import Computed, find_unspecified, keep_unspecified
from hipscope.accordo.replay.poison import POISONS
from hipscope.accordo.replay.replay import Replay, ReplayRequest, patience, replay, replay_all
from hipscope.accordo.trials import fresh_inputs
from hipscope.accordo.trials.beyond_limits import Base, Beyond, beyond_limits
from hipscope.accordo.trials.code_constants import NONE, Named, named_in
from hipscope.accordo.trials.code_limits import CodeLimit
from hipscope.accordo.trials.crossed_arguments import crossed_arguments, moved_numbers
from hipscope.accordo.trials.launch_variants import (
    AS_SQUARES,
    LONGER_ROWS,
    grown_launch,
    launch_variants,
    longer_rows,
    named_variants,
)
from hipscope.accordo.trials.mixed_contents import write_dominant, write_mixed, write_rising
from hipscope.accordo.trials.scalar_arguments import numbers_of, with_changes
from hipscope.accordo.trials.structured_contents import write_in_order, write_parts
from hipscope.analysis.errors import Cancelled
from hipscope.analysis.source.number_types import Element
from hipscope.emulator.captures import share
from hipscope.emulator.sanitize import Defect, SanitizerReport

SEEDS = (1, 2)
# On these, the sanitizers must have nothing to say of the reference at all: it may not have been made for them.
_MADE_FOR_NONE: frozenset[Defence] = frozenset({"more_dimensions", "larger_workgroups", "small_integers"})
_NATURAL = 0  # workgroups and waves in their order: what is checked is slow when it is interleaved
_CHECKS = "all,exact-alignment"
_NO_NUMBERS = (fresh_inputs.NOT_FINITE, fresh_inputs.MANY_NANS, fresh_inputs.LOWEST, fresh_inputs.ALL_NAN)
_ANY_BITS = " of other bits throughout"
_OF_ALL = (fresh_inputs.SCALED, fresh_inputs.SCALED_AGAIN, fresh_inputs.ONE_CHANGED)  # floats and integers
_FEW_INPUTS = 4
_MAYBE_INDICES: frozenset[Defence] = frozenset({"large_integers", "named_integers"})


@dataclass(frozen=True)
class Planned:
    """One trial that the reference has not run yet. `usual` is what the same launch accesses on the captured inputs."""

    defence: Defence
    label: str
    dispatch: CapturedDispatch
    inputs: Path | None
    usual: Access | None = None


@dataclass(frozen=True)
class Reason:
    """Why a trial is dropped: what the reference does there is not well defined."""

    label: str
    text: str


def plan(
    captured: ReferenceRun,
    part: ReferenceRun,
    parameters: Sequence[str],
    settings: ReferenceSettings,
    work: Path,
    cancel: threading.Event | None = None,
) -> list[Planned]:
    """What is tried beside the captured launch on its captured inputs: scaled ones (permuted, too) in full, the rest on
    `part`. Raises Cancelled.
    """
    guessed = _guessed(part)
    planned = []
    named = named_in(part.dispatch.code_object, settings.objdump, part.dispatch.kernel)
    later = (*fresh_inputs.OF_CANDIDATES, *fresh_inputs.INSTEAD.values())
    for number in (n for n in fresh_inputs.TRIALS if n not in later):
        if cancel is not None and cancel.is_set():  # of large buffers each takes seconds
            raise Cancelled
        if number == fresh_inputs.SCALED and captured is not part:
            planned += _with_inputs(captured, _guessed(captured), number, settings, work, named)
        else:
            planned += _with_inputs(part, guessed, number, settings, work, named)
    others = _other_contents(part, guessed, settings, work)
    variants = launch_variants(
        part.dispatch,
        parameters,
        work / "launches",
        odd=settings.odd_workgroups,
        larger=settings.larger_workgroups,
    )
    longer = longer_rows(part.dispatch, parameters, work / "longer", part.result.instructions)
    grown = grown_launch(captured.dispatch, parameters, work / "grown", captured.result.instructions)
    planned += [
        Planned(
            v.defence,
            v.label,
            v.dispatch,
            others.get(v.defence),
            part.access if v.defence == "other_signs" else None,
        )
        for v in (*variants, *longer, *([grown] if grown is not None else []))
    ]
    planned += [
        Planned("turned_flags", moved.label, moved.dispatch, moved.inputs)
        for moved in moved_numbers(
            part.dispatch, parameters, _elements(part), part.access, work / "moved_numbers"
        )
    ]
    # Behind a factor of 1 may be the only element that is not read.
    planned += [
        replace(p, label=f"{p.label}, {other.label}", inputs=other.inputs)
        for p in planned
        for other in planned
        if p.defence == "other_scalars" and p.label.endswith(" 1") and p.inputs is None
        if other.label == fresh_inputs.describe(fresh_inputs.NOT_FINITE)
    ]
    if grown is not None and "structured_inputs" not in settings.skipped:
        far = work / "grown_numbers"
        if fresh_inputs.write_renumbered(grown.dispatch.buffers, _elements(captured), far):
            label = f"{grown.label}, numbered the other way round"
            planned.append(Planned(grown.defence, label, grown.dispatch, far))
        far = work / "grown_parts"
        inputs = {i for i, a in captured.access.items() if a.any(READ) and not a.any(WRITTEN)}
        if write_parts(grown.dispatch.buffers, captured.dispatch.buffers, _elements(captured), inputs, far):
            label = f"{grown.label}, numbers that lead into each part of them"
            planned.append(Planned(grown.defence, label, grown.dispatch, far))
    planned += _shapes_on_other_inputs(part, planned, fresh_inputs.SCALED_AGAIN)
    # Behind a NaN may be all that a kernel writes.
    planned += [
        replace(p, label=f"{p.label}, nothing NaN", inputs=None)
        for p in planned
        if p.defence == "zero_scalars" and p.inputs is not None
    ]
    return [p for p in planned if p.defence not in settings.skipped]


def plan_instead(
    part: ReferenceRun,
    planned: Sequence[Planned],
    seen: Sequence[ReferenceRun | Reason],
    parameters: Sequence[str],
    settings: ReferenceSettings,
    work: Path,
) -> list[Planned]:
    """What is tried beside a trial on which the reference is not well defined: less of the same, or more memory."""
    dropped = {one.label for one in seen if isinstance(one, Reason)}
    more = [
        p
        for number, less in fresh_inputs.INSTEAD.items()
        if fresh_inputs.describe(number) in dropped
        for p in _with_inputs(part, _guessed(part), less, settings, work, NONE)
    ]
    floats = {i: tuple(s for s in p if s.element.kind == "float") for i, p in _guessed(part).items()}
    more += [
        replace(p, label=f"{p.label}, integers as they are")
        for number in _OF_ALL
        if fresh_inputs.describe(number) in dropped
        for p in _with_inputs(part, floats, number, settings, work / "floats", NONE)
    ]
    if fresh_inputs.describe(fresh_inputs.LARGE_INTEGERS) in dropped:
        more += _large_one_by_one(part, settings, work / "large")
        more += _large_but_marks(part, parameters, settings, work / "large_marked")
    if fresh_inputs.describe(fresh_inputs.SCALED_AGAIN) in dropped:
        more += _shapes_on_other_inputs(part, planned, fresh_inputs.PERMUTED)
    if any(label.endswith(LONGER_ROWS) for label in dropped):
        launch, folder = part.dispatch, work / "squares"
        rows = longer_rows(launch, parameters, folder, part.result.instructions, squared=True)
        again = [v for v in rows if v.label.removesuffix(AS_SQUARES) in dropped]
        more += [Planned(v.defence, v.label, v.dispatch, None) for v in again]
        for number, v in enumerate(again):
            sides = _changed_sizes(launch, v.dispatch, parameters)
            made = work / f"dominant_{number}"
            if write_dominant(v.dispatch.buffers, launch.buffers, _elements(part), sides, made):
                label = f"{v.label}, diagonals that outweigh their rows"
                more.append(Planned(v.defence, label, v.dispatch, made))
    for p in planned:
        far = work / "grown_in_order"
        if (
            (p.defence, p.inputs) == ("grown", None)
            and p.label in dropped
            and write_in_order(p.dispatch.buffers, part.dispatch.buffers, _elements(part), far)
        ):
            more.append(replace(p, label=f"{p.label}, in order", inputs=far))
    return more


def _changed_sizes(was: CapturedDispatch, now: CapturedDispatch, parameters: Sequence[str]) -> dict[int, int]:
    """The integer arguments that a launch has otherwise, by what they were."""
    old, new = (
        [int(n.value) for n in numbers_of(launch, parameters) if n.kind == "integer"] for launch in (was, now)
    )
    return {a: b for a, b in zip(old, new, strict=False) if a != b}


def _large_one_by_one(part: ReferenceRun, settings: ReferenceSettings, work: Path) -> list[Planned]:
    """Large integers in one input at a time: where some are indices, others may be keys or labels."""
    if "large_integers" in settings.skipped:
        return []
    launch, pieces = part.dispatch, _guessed(part)
    found: list[Planned] = []
    for buffer in launch.buffers:
        folder = work / f"{buffer.index}"
        if len(found) < _FEW_INPUTS and fresh_inputs.write_fresh_inputs(
            launch.buffers, pieces, part.access, folder, fresh_inputs.LARGE_INTEGERS, only=buffer.index
        ):
            found.append(Planned("large_integers", _large_alone(buffer.index), launch, folder))
    return found if len(found) > 1 else []


def _large_but_marks(
    part: ReferenceRun, parameters: Sequence[str], settings: ReferenceSettings, work: Path
) -> list[Planned]:
    """Large integers but for those that an argument names: what is left out because of such a mark stays left out."""
    launch = part.dispatch
    marks = {int(n.value) for n in numbers_of(launch, parameters) if n.kind == "integer" and n.value < 0}
    if not marks or "large_integers" in settings.skipped:
        return []
    if not fresh_inputs.write_fresh_inputs(
        launch.buffers, _guessed(part), part.access, work, fresh_inputs.LARGE_INTEGERS, avoid=marks
    ):
        return []
    label = f"{fresh_inputs.describe(fresh_inputs.LARGE_INTEGERS)}, but for what an argument names"
    return [Planned("large_integers", label, launch, work, part.access)]


def _shapes_on_other_inputs(part: ReferenceRun, planned: Sequence[Planned], number: int) -> list[Planned]:
    """Workgroups of other sizes on other inputs, too: what they leave out may not matter to the recorded ones."""
    others = [p for p in planned if p.label == fresh_inputs.describe(number)]
    return [
        replace(p, label=f"{p.label}, {other.label}", inputs=other.inputs)
        for p in planned
        for other in others
        if p.defence == "other_workgroups" and p.inputs is None
        if p.dispatch.workgroup != part.dispatch.workgroup
    ]


def _other_contents(
    part: ReferenceRun, guessed: Pieces, settings: ReferenceSettings, work: Path
) -> dict[Defence, Path]:
    """The contents with which launches with other arguments are tried, by what they are there for."""
    found: dict[Defence, Path] = {}
    if (unread := _unread(part, guessed, work)) is not None:
        found["turned_flags"] = unread
    launch, nans = part.dispatch, work / "updated_nans"
    if "not_finite_inputs" not in settings.skipped and fresh_inputs.write_updated_nans(
        launch.buffers, part.pieces, part.access, nans
    ):
        found["zero_scalars"] = nans
    return found


def _unread(part: ReferenceRun, guessed: Pieces, work: Path) -> Path | None:
    """Other contents for launches with a turned flag: it may be what makes the kernel read them, or matter only for
    some of them. None where there are none.
    """
    folder = work / "unread"
    count = fresh_inputs.write_unread(part.dispatch.buffers, part.pieces, part.access, folder)
    for buffer in part.dispatch.buffers:
        fresh = replacement(work / f"inputs_{fresh_inputs.SCALED_AGAIN}", buffer.index)
        if fresh is not None and all(s.element.kind == "float" for s in guessed[buffer.index]):
            share(fresh, folder / fresh.name)
            count += 1
    return folder if count else None


def plan_variant(captured: ReferenceRun, settings: ReferenceSettings, work: Path) -> list[Planned]:
    """What a launch is tried on that differs from another one in its arguments alone."""
    guessed = _guessed(captured)
    return _with_inputs(captured, guessed, fresh_inputs.SCALED, settings, work, NONE)


def permuted_in_full(captured: ReferenceRun, settings: ReferenceSettings, work: Path) -> list[Planned]:
    """What is tried in full when the scaled inputs cannot be."""
    return _with_inputs(captured, _guessed(captured), fresh_inputs.PERMUTED, settings, work, NONE)


def plan_named(
    part: ReferenceRun,
    parameters: Sequence[str],
    named: Named,
    limits: Sequence[CodeLimit],
    tried: Sequence[ReferenceRun],
    settings: ReferenceSettings,
    work: Path,
) -> list[Planned]:
    """Inputs with numbers that a candidate names and the reference does not, and arguments that are such numbers, but
    for those that are tried as `limits`.
    """
    numbers = [fresh_inputs.NAMED, fresh_inputs.NAMED_LARGE, fresh_inputs.NAMED_INTEGERS] if named else []
    numbers += fresh_inputs.OF_SIZES if named.floats else []
    numbers += [fresh_inputs.NAMED_LENGTHS] if named.integers else []
    guessed = _guessed(part)
    found = [p for number in numbers for p in _with_inputs(part, guessed, number, settings, work, named)]
    found += _sizes_and_zeros(part, parameters, found, work / "zeros")
    others = replace(named, integers=named.integers - {limit.size for limit in limits})
    variants = named_variants(part.dispatch, parameters, others, work / "arguments") if named else []
    wide = _any_integers(part, {run.label for run in tried})
    elements = {i: e for i, e in _elements(part).items() if e.kind == "float" or i in wide}
    for number, variant in enumerate(v for v in variants if v.defence not in settings.skipped):
        inputs = None
        if number % 2 and elements:  # what a number in an argument changes may need other contents
            inputs = write_mixed(
                variant.dispatch.buffers, elements, work / f"mixed_{number}", named, wide=wide
            )
        found.append(Planned(variant.defence, variant.label, variant.dispatch, inputs))
    # A length that it names is tried, if the reference finds what lies there.
    return [
        replace(p, label=f"{p.label} (the candidate)", usual=None) if p.dispatch is part.dispatch else p
        for p in found
    ]


def _sizes_and_zeros(
    part: ReferenceRun, parameters: Sequence[str], found: Sequence[Planned], work: Path
) -> list[Planned]:
    """Floats of the size of a number that is named, with all arguments 0 that would hide it as factors or terms."""
    floats = [n for n in numbers_of(part.dispatch, parameters) if n.kind == "float" and n.declared]
    size = next((p for p in found if p.label == fresh_inputs.describe(fresh_inputs.AS_NAMED)), None)
    if size is None or not any(n.value for n in floats):
        return []
    kernarg = with_changes(part.dispatch.kernarg(), floats, lambda _: 0.0)
    zeros = write_dispatch(part.dispatch, work, kernarg, {})
    return [replace(size, label=f"{size.label}, float arguments 0", dispatch=zeros)]


def plan_crossed(
    part: ReferenceRun,
    parameters: Sequence[str],
    conditions: Named,
    tried: Sequence[ReferenceRun],
    settings: ReferenceSettings,
    work: Path,
) -> list[Planned]:
    """Launches that differ in several arguments and in the inputs at once, for a candidate with conditions of its own.

    Integers are any ones where the reference was defined on such: what was `tried` tells it.
    """
    if "crossed" in settings.skipped:
        return []
    launch, elements = part.dispatch, _elements(part)
    labels = {run.label for run in tried}
    args = [label.removesuffix(_ANY_BITS) for label in labels if label.endswith(_ANY_BITS)]
    wide = _any_integers(part, labels)
    inputs = [
        write_mixed(launch.buffers, elements, work / f"inputs_{draw}", conditions, wide=wide, draw=draw)
        for draw in (0, 1)
    ]
    found = []
    for number, row in enumerate(crossed_arguments(launch, parameters, conditions, args)):
        changed = write_dispatch(launch, work / f"{number}", row.kernarg, {})
        found.append(Planned("crossed", row.label, changed, inputs[row.draw]))
    return [
        *found,
        *_rising(part, tried, work / "rising"),
        *_hidden(part, parameters, settings, work / "hidden"),
        *_flat(part, parameters, settings, work / "flat"),
        *_with_inputs(part, _guessed(part), fresh_inputs.EVERY_OTHER, settings, work / "others", NONE),
    ]


def _hidden(
    part: ReferenceRun, parameters: Sequence[str], settings: ReferenceSettings, work: Path
) -> list[Planned]:
    """Each float argument 0 over inputs of which many are NaN: a factor of 0 hides no read of them.

    None is infinite: 0 times infinity is NaN, so a sum in another order may have NaN for infinity.
    """
    launch, nans = part.dispatch, work / "inputs"
    floats = [n for n in numbers_of(launch, parameters) if n.kind == "float" and n.declared and n.value]
    if not floats or {"not_finite_inputs", "zero_scalars"} & settings.skipped:
        return []
    if not fresh_inputs.write_fresh_inputs(
        launch.buffers, part.pieces, part.access, nans, fresh_inputs.MANY_NANS
    ):
        return []
    found = []
    for one in floats[:_FEW_INPUTS]:
        kernarg = with_changes(launch.kernarg(), [one], lambda _: 0.0)
        changed = write_dispatch(launch, work / f"{one.offset}", kernarg, {})
        label = f"{one.label} 0, {fresh_inputs.describe(fresh_inputs.MANY_NANS)}"
        found.append(Planned("crossed", label, changed, nans))
    return found


def _flat(
    part: ReferenceRun, parameters: Sequence[str], settings: ReferenceSettings, work: Path
) -> list[Planned]:
    """Each size 0 over inputs without any difference: a threshold of 0 is passed by what is computed from those."""
    launch, same = part.dispatch, work / "inputs"
    sizes = [n for n in numbers_of(launch, parameters) if n.kind == "integer" and n.declared and n.value > 1]
    if not sizes or {"special_inputs", "other_sizes"} & settings.skipped:
        return []
    if not fresh_inputs.write_fresh_inputs(
        launch.buffers, _guessed(part), part.access, same, fresh_inputs.ALL_SAME
    ):
        return []
    found = []
    for one in sizes[-_FEW_INPUTS:]:  # thresholds rather stand behind sizes
        kernarg = with_changes(launch.kernarg(), [one], lambda _: 0)
        changed = write_dispatch(launch, work / f"{one.offset}", kernarg, {})
        label = f"{one.label} 0, {fresh_inputs.describe(fresh_inputs.ALL_SAME)}"
        found.append(Planned("crossed", label, changed, same))
    return found


def _rising(part: ReferenceRun, tried: Sequence[ReferenceRun], work: Path) -> list[Planned]:
    """The launches with longer rows over floats that rise along each: what counts stands at the end."""
    floats = {i: e for i, e in _elements(part).items() if e.kind == "float"}
    rows = [run for run in tried if LONGER_ROWS in run.label]
    return [
        Planned("crossed", f"{run.label}, rising", run.dispatch, made)
        for number, run in enumerate(rows)
        if (made := write_rising(run.dispatch.buffers, floats, work / f"{number}")) is not None
    ]


def _any_integers(part: ReferenceRun, labels: Collection[str]) -> frozenset[int]:
    """The buffers of integers for which all values were tried, and the reference was defined on them."""
    everywhere = fresh_inputs.describe(fresh_inputs.LARGE_INTEGERS) in labels
    short = fresh_inputs.describe(fresh_inputs.SMALL_INTEGERS) in labels
    return frozenset(
        i
        for i, element in _elements(part).items()
        if element.kind == "integer"
        and (short if element.size < 4 else everywhere or _large_alone(i) in labels)
    )


def _large_alone(buffer: int) -> str:
    return f"{fresh_inputs.describe(fresh_inputs.LARGE_INTEGERS)}, in buffer {buffer} alone"


def _elements(run: ReferenceRun) -> dict[int, Element]:
    return {i: pieces[0].element for i, pieces in _guessed(run).items() if len(pieces) == 1}


def plan_beyond(
    part: ReferenceRun,
    parameters: Sequence[str],
    limits: Sequence[CodeLimit],
    conditions: Named,
    tried: Sequence[ReferenceRun],
    settings: ReferenceSettings,
    work: Path,
) -> list[Beyond]:
    """Launches that are larger than what only a candidate's code compares with or can count."""
    if not limits or "larger_sizes" in settings.skipped:
        return []
    launch, same = part.dispatch, work / "same"
    marks = {*(int(n.value) for n in numbers_of(launch, parameters) if n.kind == "integer")}
    count = fresh_inputs.write_fresh_inputs(
        launch.buffers, _guessed(part), part.access, same, fresh_inputs.SHARED, avoid=marks
    )
    wide = _any_integers(part, {run.label for run in tried})
    elements = {i: e for i, e in _elements(part).items() if e.kind == "float" or i in wide}
    shared = same if count else None
    base = Base(launch, parameters, part.result.instructions, shared, elements, conditions, wide)
    return beyond_limits(base, limits, work)


def _guessed(run: ReferenceRun) -> Pieces:
    return with_guesses(run.dispatch.buffers, run.pieces)


def _with_inputs(
    base: ReferenceRun, guessed: Pieces, number: int, settings: ReferenceSettings, work: Path, named: Named
) -> list[Planned]:
    """The trial of that number, if there is something to replace."""
    defence, fresh = fresh_inputs.TRIALS[number], work / f"inputs_{number}"
    if defence in settings.skipped:
        return []
    # Which NaN comes out, no compiler promises; what has no declared type is compared byte for byte.
    pieces = base.pieces if number in _NO_NUMBERS else guessed
    if not fresh_inputs.write_fresh_inputs(base.dispatch.buffers, pieces, base.access, fresh, number, named):
        return []
    return [Planned(defence, fresh_inputs.describe(number), base.dispatch, fresh, base.access)]


def twice(
    dispatch: CapturedDispatch, out: Path, inputs: Path | None = None, limit: float | None = None
) -> tuple[ReplayRequest, ReplayRequest]:
    """A traced run of the reference, and one in another order with everything poisoned that it only writes."""
    code = dispatch.code_object
    traced = ReplayRequest(
        dispatch, code, out, seed=SEEDS[0], inputs=inputs, trace_access=True, timeout_s=limit
    )
    again = ReplayRequest(
        dispatch,
        code,
        out.with_name(f"{out.name}_again"),
        seed=SEEDS[1],
        poison=POISONS[0].seed,
        poison_mask=out,
        inputs=inputs,
        timeout_s=limit,
    )
    return traced, again


def thrice(
    dispatch: CapturedDispatch, out: Path, inputs: Path | None = None, limit: float | None = None
) -> tuple[ReplayRequest, ReplayRequest, ReplayRequest]:
    """The same over one content of what nothing wrote, and between them a run in the first order over its complement.

    What the first and the second leave differs by nothing but that content; the first and the last by nothing but the
    order, and by what is in the memory that they write.
    """
    traced, again = twice(dispatch, out, inputs, limit)
    traced = replace(traced, poison=POISONS[0].seed)
    inverted = replace(
        traced, out=out.with_name(f"{out.name}_inverted"), poison_inverted=True, trace_access=False
    )
    return traced, inverted, again


@dataclass(frozen=True)
class Trials:
    """Runs trials of the reference. `types` are what its pointers point to."""

    captured: ReferenceRun
    types: Pointees
    settings: ReferenceSettings
    signature: Signature
    cancel: threading.Event | None

    def run(self, planned: Sequence[Planned], work: Path) -> list[ReferenceRun | Reason]:
        """The reference on each of them."""
        groups = [self._requests(trial, work / f"trial_{n}") for n, trial in enumerate(planned)]
        made = replay_all(self.settings.tool, groups, cancel=self.cancel)
        return [self._seen(trial, runs) for trial, runs in zip(planned, made, strict=True)]

    def _requests(self, trial: Planned, out: Path) -> tuple[ReplayRequest, ...]:
        # Inputs that the program never had may make the reference loop for ever.
        limit = patience(self.settings.tool, self.captured.result)
        runs = thrice if self.captured.unspecified else twice
        traced, *others, again = runs(trial.dispatch, out, trial.inputs, limit)
        first = (replace(traced, number_kinds=self._untyped), *others)
        # A kernel that was not made for such a launch may race there unseen, and leave what another run does not.
        return *first, replace(again, seed=_NATURAL, sanitize=_CHECKS)

    def _defect(self, trial: Planned, checked: Replay) -> str | None:
        """What the sanitizers say of the reference on a trial and do not say of it on what the program did."""
        found = checked.sanitizers(trial.dispatch.code_object)
        reports = [r for r in found.reports if _is_certain(r, trial.dispatch, self.types)] if found else []
        if not reports:
            return None
        if trial.defence in _MADE_FOR_NONE:
            return reports[0].message
        return next((r.message for r in reports if r.defect not in self._own_defects), None)

    @cached_property
    def _untyped(self) -> bool:
        run = self.captured
        return untyped_floats(run.result, run.dispatch, run.pieces, self.settings.objdump)

    @cached_property
    def _own_defects(self) -> frozenset[Defect]:
        """The kinds of defects that the reference has on the captured inputs; asked for when a trial shows some."""
        run = self.captured
        done = run.result.directory
        out = done.with_name(f"{done.name}_checked")
        request = ReplayRequest(run.dispatch, run.dispatch.code_object, out, sanitize=_CHECKS)
        found = replay(self.settings.tool, request, cancel=self.cancel).sanitizers(run.dispatch.code_object)
        return frozenset(r.defect for r in found.reports) if found is not None else frozenset()

    def _again(self, trial: Planned, first: Replay) -> Replay:
        """A second run without the sanitizers, which leave out accesses that they refuse, and take their time."""
        limit = patience(self.settings.tool, self.captured.result)
        again = twice(trial.dispatch, first.directory, trial.inputs, limit)[1]
        again = replace(again, out=again.out.with_name(f"{first.directory.name}_plain"))
        return replay(self.settings.tool, again, cancel=self.cancel)

    def _seen(self, trial: Planned, runs: Sequence[Replay]) -> ReferenceRun | Reason:
        """What replays of the reference on a trial make of it; the last is made here where it was not foreseen."""
        launch = trial.dispatch
        pieces = pieces_of(launch, self.types)
        result, other = runs[0], runs[-1]
        foreseen = 3 if self.captured.unspecified else 2
        before = runs[:-1] if len(runs) == foreseen else runs
        if (failed := next((run for run in before if run.status != "ok"), None)) is not None:
            text = f"the reference itself fails there ({failed.status}): {failed.message}"
            return Reason(trial.label, text)
        if other.status == "ok" and (why := self._defect(trial, other)) is not None:
            return Reason(trial.label, f"the reference itself is not well defined there: {why}")
        if other.status != "ok" or self._reported(trial, other):
            other = self._again(trial, result)
        if other.status != "ok":
            text = f"the reference itself fails there ({other.status}): {other.message}"
            return Reason(trial.label, text)
        access = access_of(result, launch)
        try:
            unspecified = find_unspecified(launch, access, result, runs[1]) if foreseen > 2 else NOTHING
        except Computed as reason:
            return Reason(trial.label, f"the reference is not reproducible there: {reason}")
        if trial.defence in _MAYBE_INDICES and trial.usual and not no_other_places(access, trial.usual):
            return Reason(trial.label, "the kernel takes integers of its input for indices or lengths")
        if trial.defence == "other_signs" and trial.usual and _written(access) < _written(trial.usual):
            return Reason(trial.label, "it bounds what the kernel does")
        # Other inputs may be of quite another size.
        spread = dict(self.captured.spread) if trial.inputs is None else {}
        results = with_stored_numbers(pieces, access)
        by_atomics = floats_by_atomics(launch, results, access) or variables_by_atomics(launch, result)
        difference = difference_of(
            launch, results, access, result, OtherRun(unless_same(result, other), other.variable),
            self.settings, self.signature,
        )  # fmt: skip
        if difference is not None:
            return Reason(trial.label, f"the reference is not reproducible there: {difference}")
        widen_spread(spread, launch, results, result, other)
        same = not by_atomics and same_bits(launch, result, other)
        keep_unspecified(unspecified, result.directory)
        return ReferenceRun(
            trial.label,
            launch,
            trial.inputs,
            pieces,
            result,
            access,
            spread,
            same,
            same_words=result.printed == other.printed,
            crossed=trial.defence == "crossed",
            unspecified=unspecified,
        )

    def _reported(self, trial: Planned, checked: Replay) -> bool:
        found = checked.sanitizers(trial.dispatch.code_object)
        return found is not None and bool(found.reports)


def _written(access: Access) -> int:
    return sum(one.count(WRITTEN) for one in access.values())


def _is_certain(report: SanitizerReport, launch: CapturedDispatch, types: Pointees) -> bool:
    """Whether a report can mean nothing but a defect: compilers make wide accesses of narrow types, that may lie at any
    address, but a `float` never does. One byte off, as with a length in bytes that is one less, neighbours overlap.
    """
    memory = report.memory
    if report.defect != "misaligned" or memory is None or memory.space != "global":
        return True
    if "atomic" in report.at.instruction:
        return True
    pieces = pieces_of(launch, types)
    return any(
        piece.element.kind == "float" and piece.element.size >= 4
        for buffer in launch.buffers
        for piece in pieces[buffer.index]
        if piece.start <= memory.address - buffer.address < piece.end
    )
