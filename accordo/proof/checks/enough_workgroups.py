"""What the original does on a trial that has too few workgroups for its sizes, once it has enough of them.

A rewrite that steps by the size of the grid does all of the work in any launch. The original, with one work-item for
each element, does a part of it where a trial has fewer workgroups than the program launched. Takes such a trial, gives
the original's run with enough workgroups over the same memory: what that leaves, the rewrite may leave as well.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.access_map import WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.proof.checks.plan import Proof, parameters_of, trials_of
from hipscope.accordo.reference.prepare import Prepared
from hipscope.accordo.reference.run import OtherRun, ReferenceRun, difference_of, unless_same
from hipscope.accordo.reference.trials import Planned
from hipscope.accordo.replay.replay import Replay
from hipscope.accordo.trials.other_launch import Sides, as_it_is, groups_of, reshaped
from hipscope.accordo.trials.scalar_arguments import numbers_of

NOTE = "with fewer workgroups than its sizes ask for, the rewrite does what the original does with enough of them"
_MOST = 1 << 20  # work-items along a side


def with_enough_workgroups(proof: Proof, prepared: Prepared, run: ReferenceRun) -> ReferenceRun | None:
    """The original on the trial `run`, with more workgroups; made once for all candidates. None where the trial has
    enough, and where the number of further workgroups matters to the original: as it may use it for something else.
    """
    if proof.relaunch is not as_it_is or run is prepared.runs[0]:
        return None
    known = (run.dispatch.directory, run.inputs)
    if known not in prepared.enough:
        sides = enough_workgroups(prepared.dispatch, run.dispatch, parameters_of(proof, prepared.dispatch))
        prepared.enough[known] = None if sides is None else _run(proof, prepared, run, sides)
    return prepared.enough[known]


def as_far_as(result: Replay, few: ReferenceRun, enough: ReferenceRun) -> ReferenceRun:
    """The original with enough workgroups, as if it had written only where it writes with few of them and where a run
    of the candidate changed something.
    """
    access = {}
    for buffer in few.dispatch.buffers:
        replaced = replacement(few.inputs, buffer.index)
        before = buffer.before() if replaced is None else replaced_contents(replaced, buffer.before)
        changed = np.frombuffer(result.image(buffer), dtype=np.uint8) != np.frombuffer(before, dtype=np.uint8)
        left = (few.access[buffer.index].whole & WRITTEN != 0) | changed
        access[buffer.index] = AccessMap.of(
            enough.access[buffer.index].whole & np.where(left, 255, 255 - WRITTEN).astype(np.uint8)
        )
    return replace(enough, access=access)


def enough_workgroups(
    recorded: CapturedDispatch, launch: CapturedDispatch, types: Sequence[str]
) -> Sides | None:
    """So many workgroups as the integers of a launch ask for that bound a side of the recorded one; where none does, as
    many work-items as recorded, and more by as much as integers are larger. None where the launch has them.
    """
    integers = [n for n in numbers_of(recorded, types) if n.kind == "integer" and n.declared]
    now = {n.offset: n.value for n in numbers_of(launch, types)}
    growth = math.prod(max(1.0, now[n.offset] / n.value) for n in integers if n.value > 0)
    wanted = []
    for side, (had, groups) in enumerate(zip(groups_of(launch), groups_of(recorded), strict=True)):
        least, most = ((groups - n) * recorded.workgroup[side] for n in (1, 0))
        bounds = [now[n.offset] for n in integers if least < n.value <= most and most > 1]
        items = max(bounds) if bounds else most * (growth if groups > 1 else 1)
        wanted.append(max(had, math.ceil(min(items, _MOST) / launch.workgroup[side])))
    x, y, z = wanted
    return None if (x, y, z) == groups_of(launch) else (x, y, z)


def _run(proof: Proof, prepared: Prepared, run: ReferenceRun, sides: Sides) -> ReferenceRun | None:
    settings, launch = proof.reference.settings, run.dispatch
    folder = Path(tempfile.mkdtemp(prefix="enough_", dir=settings.work))
    more = [n + (n != had) for n, had in zip(sides, groups_of(launch), strict=True)]
    planned = [
        Planned(
            "other_workgroups",
            f"{run.label}, {math.prod(groups)} workgroups",
            reshaped(launch, groups, launch.workgroup, folder / f"{n}"),
            run.inputs,
        )
        for n, groups in enumerate((sides, (more[0], more[1], more[2])))
    ]
    enough, further = trials_of(proof, prepared).run(planned, folder)
    if not isinstance(enough, ReferenceRun) or not isinstance(further, ReferenceRun):
        return None
    difference = difference_of(
        enough.dispatch,
        enough.results,
        enough.access,
        enough.result,
        OtherRun(unless_same(enough.result, further.result), further.result.variable),
        settings,
        proof.reference.signature,
    )
    return enough if difference is None else None
