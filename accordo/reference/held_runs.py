"""The orders in which waves are stopped at what reaches other workgroups, and whether the reference is defined in them.

Takes the reference's run on few workgroups; gives how long a candidate's runs in such orders may take, or why none
is made.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from hipscope.accordo.dispatch.code_properties import meeting_places
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.reference.run import OtherRun, ReferenceRun, difference_of, unless_same
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.poison import POISONS
from hipscope.accordo.replay.replay import HeldOrder, ReplayRequest, patience, replay_all

HELD = "waves stopped at their atomics and fences"
_MOST_PLACES = 8
_BY_CHANCE = (1, 2, 3)


def held_orders(places: int) -> Iterator[HeldOrder]:
    """The orders for a kernel with so many instructions that reach other workgroups."""
    if not places:
        return
    yield HeldOrder("after")
    yield HeldOrder("before")
    if places > 1:
        yield from (HeldOrder("after", only=place) for place in range(min(places, _MOST_PLACES)))
    yield from (HeldOrder("after", by_chance=seed) for seed in _BY_CHANCE)


def held_patience(
    run: ReferenceRun,
    settings: ReferenceSettings,
    signature: Signature,
    work: Path,
    cancel: threading.Event | None,
) -> float | str | None:
    """The seconds that a run in one of these orders deserves; why the reference is not defined in them; None where a
    launch is not tried so.
    """
    launch, tool = run.dispatch, settings.tool
    if not tool.batches or "held_waves" in settings.without or launch.variant:
        return None
    usual = patience(tool, run.result)
    places = meeting_places(launch.code_object, settings.objdump, launch.kernel)
    requests = [
        ReplayRequest(
            launch,
            launch.code_object,
            work / f"held_{number}",
            poison=POISONS[0].seed,
            poison_mask=run.result.directory,
            inputs=run.inputs,
            timeout_s=usual,
            held=order,
        )
        for number, order in enumerate(held_orders(places))
    ]
    longest = usual
    for request, (made,) in zip(
        requests, replay_all(tool, [[r] for r in requests], cancel=cancel), strict=True
    ):
        if made.status != "ok":
            return f"the reference itself fails there ({made.status}; {request.held}): {made.message}"
        again = OtherRun(unless_same(run.result, made), made.variable, run.unspecified)
        different = difference_of(launch, run.results, run.access, run.result, again, settings, signature)
        if different is not None:
            return f"the reference is not reproducible there ({request.held}): {different}"
        longest = max(longest, patience(tool, made))
        shutil.rmtree(made.directory, ignore_errors=True)
    return longest
