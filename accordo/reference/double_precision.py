"""What the kernel leaves in double precision on the reference's runs, made when a candidate's floats first ask for it.

Takes the reference's runs of one dispatch. A candidate with the reference's own bits never needs it.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.double_precision import usable
from hipscope.accordo.dispatch.access_map import WRITTEN
from hipscope.accordo.oracle.launch import Images, NoOracle, WidenedKernel, float_buffers, write_widened
from hipscope.accordo.reference.nudged_runs import double_roundings
from hipscope.accordo.reference.rounding_errors import Truth, rounding_errors
from hipscope.accordo.reference.run import ReferenceRun, written_elements
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.replay import ReplayRequest, patience, replay
from hipscope.analysis.source.number_types import WIDENED

_SEED = 1
_INDEX = "index.json"
_WORK = "oracle_"
_NUDGED = "nudged_"
_CANCELLED = "cancelled_"
_NUDGES, _MORE_NUDGES = 4, 16


class _OtherFunction(NoOracle):
    """Double precision is far from what the reference leaves: another function, or its terms cancel."""


@dataclass(eq=False)
class Oracles:
    """The double-precision results of the reference's runs; `why` there are none, after the first request.

    `captured` is the run on the captured inputs: unless double precision agrees with it, or all that is between them is
    rounding, there are no oracles at all.
    `told` names the other runs that have one.
    """

    settings: ReferenceSettings
    captured: ReferenceRun
    told: tuple[str, ...]
    work: Path
    why: str = ""
    _made: dict[str, Images] = field(default_factory=dict)
    _roundings: dict[str, tuple[int, Images]] = field(default_factory=dict)
    _moved: dict[str, Images] = field(default_factory=dict)
    _truths: dict[str, Mapping[int, Truth]] = field(default_factory=dict)
    _known: WidenedKernel | str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _off(self) -> bool:
        return "oracle" in self.settings.without or self.settings.widened is None

    def images(
        self, run: ReferenceRun, cancel: threading.Event | None = None, *, asked: bool = False
    ) -> Images:
        """The float buffers as the kernel leaves them in double precision; empty when that cannot be had.

        `asked`: also for a run that is not told, because a candidate differs there.
        """
        if self._off or (run is not self.captured and run.label not in self.told and not asked):
            return {}
        with self._lock:
            if not self._made:
                self._made[self.captured.label] = self._first(cancel)
            if self.why:
                return {}
            if run.label not in self._made:
                try:
                    self._made[run.label] = self._image(run, self._kernel(), cancel)
                except NoOracle:
                    self._made[run.label] = {}
            return self._made[run.label]

    def roundings(
        self, run: ReferenceRun, cancel: threading.Event | None = None, *, more: bool = False
    ) -> Images:
        """How far each element of the float buffers moves when each input moves by half a unit in its last place.

        Of a sum that is half a unit in the last place of the root of its squared summands, so it tells how large they
        are where they cancel. The root mean square of a few runs in double precision; empty when there are none. Of
        many thousand elements, one or the other hardly moves in a few: `more` runs tell whether that was chance.
        """
        exact = self.images(run, cancel, asked=True)
        if not exact:
            return {}
        with self._lock:
            count, squares = self._roundings.get(
                run.label, (0, {i: np.zeros(len(e)) for i, e in exact.items()})
            )
            wanted = _MORE_NUDGES if more else _NUDGES
            for seed in range(count + 1, wanted + 1):
                moved = self._nudged(run, seed, cancel)
                with np.errstate(invalid="ignore", over="ignore"):
                    squares = {
                        i: s + np.square(moved[i] - exact[i]) for i, s in squares.items() if i in moved
                    }
            self._roundings[run.label] = max(count, wanted), squares
            return {index: np.sqrt(square / max(count, wanted)) for index, square in squares.items()}

    def truths(self, run: ReferenceRun, cancel: threading.Event | None = None) -> Mapping[int, Truth]:
        """What rounding explains of large differences, by buffer: where terms cancel it is all that is left of them.

        Empty when that cannot be had, and for what is large beside the rounding of its terms.
        """
        self.images(self.captured, cancel)
        if self._off or self.why:
            return {}
        with self._lock:
            return self._truths_of(run, cancel)

    def _truths_of(self, run: ReferenceRun, cancel: threading.Event | None) -> Mapping[int, Truth]:
        if run.label not in self._truths:
            work = self.work / f"{_CANCELLED}{len(self._truths)}"
            shutil.rmtree(work, ignore_errors=True)
            try:
                kernel = self._kernel()
                left = partial(self._left, run, kernel, cancel)
                self._truths[run.label] = rounding_errors(run, self.settings, left, work, cancel)
            except NoOracle:
                self._truths[run.label] = {}
            shutil.rmtree(work, ignore_errors=True)
        return self._truths[run.label]

    def double_roundings(self, run: ReferenceRun, cancel: threading.Event | None = None) -> Images:
        """How far rounding moves each element of the buffers of doubles, for which there is no wider type."""
        if "oracle" in self.settings.without:
            return {}
        with self._lock:
            if run.label not in self._moved:
                work = self.work / f"{_NUDGED}{len(self._moved)}"
                shutil.rmtree(work, ignore_errors=True)
                self._moved[run.label] = double_roundings(run, self.settings, work, cancel)
            return self._moved[run.label]

    def _nudged(self, run: ReferenceRun, seed: int, cancel: threading.Event | None) -> Images:
        try:
            return self._image(run, self._kernel(), cancel, nudged=seed)
        except NoOracle:
            return {}

    def keep(self, runs: Sequence[ReferenceRun], folder: Path, cancel: threading.Event | None = None) -> None:
        """Make the results of all of these runs that have any, and write them into a new folder for `take_up`.

        Nothing is written when there are no oracles; a later request gives the reason.
        """
        for run in runs:
            if writes_floats(run):
                self.images(run, cancel)
        for made in self.work.glob(f"{_WORK}*"):  # the results are all that is wanted of it
            shutil.rmtree(made, ignore_errors=True)
        if self.why or not self._made:
            return
        folder.mkdir()
        for number, images in enumerate(self._made.values()):
            for buffer, image in images.items():
                np.save(folder / f"{number}_{buffer}.npy", image, allow_pickle=False)
        (folder / _INDEX).write_text(json.dumps(list(self._made)), encoding="utf-8")

    def take_up(self, folder: Path) -> None:
        """Know what was kept in a folder; without effect when nothing was."""
        if not (folder / _INDEX).exists():
            return
        for number, label in enumerate(json.loads((folder / _INDEX).read_text(encoding="utf-8"))):
            files = folder.glob(f"{number}_*.npy")
            self._made[label] = {
                int(f.stem.split("_")[1]): np.load(f, mmap_mode="r", allow_pickle=False) for f in files
            }

    def _first(self, cancel: threading.Event | None) -> Images:
        if not writes_floats(self.captured):
            return {}
        try:
            return self._image(self.captured, self._kernel(), cancel)
        except NoOracle as reason:
            rounding = isinstance(reason, _OtherFunction) and self._truths_of(self.captured, cancel)
            self.why = "" if rounding else str(reason)
            return {}

    def _kernel(self) -> WidenedKernel:
        if self._known is None:
            assert self.settings.widened is not None
            self._known = self.settings.widened(self.captured.dispatch.kernel)
        if isinstance(self._known, str):
            raise NoOracle(self._known)
        return self._known

    def _image(
        self, run: ReferenceRun, kernel: WidenedKernel, cancel: threading.Event | None, nudged: int = 0
    ) -> Images:
        """The float buffers in double precision. Raises NoOracle, also where that is far from the reference's."""
        images = self._left(run, kernel, cancel, run.inputs, nudged)
        for index, element in float_buffers(run.dispatch, run.pieces).items():
            if index not in images:
                continue
            buffer = next(b for b in run.dispatch.buffers if b.index == index)
            touched = written_elements(run, index, element.size)
            expected = element.numbers(run.compared(run.result, buffer))
            if not usable(expected[touched], images[index][touched], element.epsilon):
                raise _OtherFunction("it computes something else than the kernel")
        return images

    def _left(
        self,
        run: ReferenceRun,
        kernel: WidenedKernel,
        cancel: threading.Event | None,
        inputs: Path | None,
        nudged: int = 0,
    ) -> dict[int, NDArray[np.float64]]:
        """What the kernel in double precision leaves in the float buffers that the run writes. Raises NoOracle."""
        folder = self.work / f"{_WORK}{len(self._made)}_{nudged}"
        shutil.rmtree(folder, ignore_errors=True)
        launch = write_widened(run.dispatch, run.pieces, inputs, kernel, folder / "dispatch", nudged)
        limit = patience(self.settings.tool, run.result)
        request = ReplayRequest(launch, kernel.code.path, folder / "run", seed=_SEED, timeout_s=limit)
        result = replay(self.settings.tool, request, cancel=cancel)
        if result.status != "ok":
            raise NoOracle(f"it does not run ({result.status}): {result.message}")
        images: dict[int, NDArray[np.float64]] = {}
        for index, element in float_buffers(run.dispatch, run.pieces).items():
            buffer = next(b for b in run.dispatch.buffers if b.index == index)
            if run.access[index].any(WRITTEN) and written_elements(run, index, element.size).any():
                images[index] = np.frombuffer(
                    result.after(index, 8 // element.size * buffer.size), dtype="<f8"
                )
        return images


def writes_floats(run: ReferenceRun) -> bool:
    """Whether the kernel leaves floats that double precision can be held against."""
    return any(
        s.element.name in WIDENED and run.access[b.index].any(WRITTEN, s.start, s.end)
        for b in run.dispatch.buffers
        for s in run.pieces[b.index]
    )
