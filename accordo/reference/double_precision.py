"""What the kernel leaves in double precision on the reference's runs, made when a candidate's floats first ask for it.

Takes the reference's runs of one dispatch. A candidate with the reference's own bits never needs it.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.double_precision import usable
from hipscope.accordo.dispatch.access_map import WRITTEN
from hipscope.accordo.oracle.launch import Images, NoOracle, WidenedKernel, float_buffers, write_widened
from hipscope.accordo.reference.nudged_runs import double_roundings
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.replay import ReplayRequest, patience, replay
from hipscope.analysis.source.number_types import WIDENED

_SEED = 1
_INDEX = "index.json"
_WORK = "oracle_"
_NUDGED = "nudged_"
_NUDGES = 4


@dataclass(eq=False)
class Oracles:
    """The double-precision results of the reference's runs; `why` there are none, after the first request.

    `captured` is the run on the captured inputs: unless double precision agrees with it, there are no oracles at all.
    `told` names the other runs that have one.
    """

    settings: ReferenceSettings
    captured: ReferenceRun
    told: tuple[str, ...]
    work: Path
    why: str = ""
    _made: dict[str, Images] = field(default_factory=dict)
    _roundings: dict[str, Images] = field(default_factory=dict)
    _moved: dict[str, Images] = field(default_factory=dict)
    _known: WidenedKernel | str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def images(
        self, run: ReferenceRun, cancel: threading.Event | None = None, *, asked: bool = False
    ) -> Images:
        """The float buffers as the kernel leaves them in double precision; empty when that cannot be had.

        `asked`: also for a run that is not told, because a candidate differs there.
        """
        if "oracle" in self.settings.without or self.settings.widened is None:
            return {}
        if run is not self.captured and run.label not in self.told and not asked:
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

    def roundings(self, run: ReferenceRun, cancel: threading.Event | None = None) -> Images:
        """How far each element of the float buffers moves when each input moves by half a unit in its last place.

        Of a sum that is half a unit in the last place of the root of its squared summands, so it tells how large they
        are where they cancel. The root mean square of a few runs in double precision; empty when there are none.
        """
        exact = self.images(run, cancel, asked=True)
        if not exact:
            return {}
        with self._lock:
            if run.label not in self._roundings:
                moved = [self._nudged(run, seed, cancel) for seed in range(1, _NUDGES + 1)]
                self._roundings[run.label] = {
                    index: np.sqrt(np.mean([np.square(m[index] - image) for m in moved], axis=0))
                    for index, image in exact.items()
                    if all(index in m for m in moved)
                }
            return self._roundings[run.label]

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
            self.why = str(reason)
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
    ) -> dict[int, NDArray[np.float64]]:
        """The float buffers in double precision. Raises NoOracle."""
        folder = self.work / f"{_WORK}{len(self._made)}_{nudged}"
        shutil.rmtree(folder, ignore_errors=True)
        launch = write_widened(run.dispatch, run.pieces, run.inputs, kernel, folder / "dispatch", nudged)
        limit = patience(self.settings.tool, run.result)
        request = ReplayRequest(launch, kernel.code.path, folder / "run", seed=_SEED, timeout_s=limit)
        result = replay(self.settings.tool, request, cancel=cancel)
        if result.status != "ok":
            raise NoOracle(f"it does not run ({result.status}): {result.message}")
        images: dict[int, NDArray[np.float64]] = {}
        for index, element in float_buffers(run.dispatch, run.pieces).items():
            buffer = next(b for b in run.dispatch.buffers if b.index == index)
            if not run.access[index].any(WRITTEN):
                continue
            image = np.frombuffer(result.after(index, 8 // element.size * buffer.size), dtype="<f8")
            written = (run.access[index].whole & WRITTEN) != 0
            if index in run.unspecified:
                written &= ~run.unspecified[index]
            touched = written.reshape(-1, element.size).all(axis=1)
            expected = element.numbers(run.compared(run.result, buffer))
            if touched.any():
                if not usable(expected[touched], image[touched], element.epsilon):
                    raise NoOracle("it computes something else than the kernel")
                images[index] = image
        return images


def writes_floats(run: ReferenceRun) -> bool:
    """Whether the kernel leaves floats that double precision can be held against."""
    return any(
        s.element.name in WIDENED and run.access[b.index].any(WRITTEN, s.start, s.end)
        for b in run.dispatch.buffers
        for s in run.pieces[b.index]
    )
