"""A replayed reference written down beside its replays, and taken up again: nothing is replayed a second time.

`keep_reference` writes one file that says which replays belong together; all paths in it are relative to a root, so
that the whole can be moved. `read_reference` gives the reference that was kept, for judging under the same settings.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hipscope.accordo.dispatch.access_map import WRITTEN
from hipscope.accordo.dispatch.captured import CapturedDispatch, read_dispatch
from hipscope.accordo.dispatch.element_types import Pointees, demangle, pieces_of
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.model.verdict import Trial
from hipscope.accordo.reference.double_precision import Oracles
from hipscope.accordo.reference.input_coverage import VariedInput
from hipscope.accordo.reference.prepare import TOLD, Prepared, Reference
from hipscope.accordo.reference.run import ReferenceRun, access_of
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.reference.unspecified import read_unspecified
from hipscope.accordo.replay.replay import ReplayBroken, ReplayRequest, read_result

_FILE = "reference.json"
_ORACLES = "oracles"


def keep_reference(
    reference: Reference, folder: Path, root: Path, cancel: threading.Event | None = None
) -> None:
    """Write down a reference that can judge, with its results in double precision; its replays and dispatches lie below
    `root`. Raises Cancelled.
    """
    kept = _Kept(
        prepared=tuple(_described(p, root) for p in reference.prepared),
        notes=reference.own_notes,
    )
    (folder / _FILE).write_text(kept.model_dump_json(), encoding="utf-8")
    for number, one in enumerate(reference.prepared):
        one.oracles.keep(one.runs, folder / f"{_ORACLES}_{number}", cancel)
    for prepared in reference.prepared:  # second runs are not needed any more
        for run in (*prepared.runs, prepared.repeated):
            for more in ("again", "inverted", "plain", "checked"):
                done = run.result.directory.with_name(f"{run.result.directory.name}_{more}")
                shutil.rmtree(done, ignore_errors=True)


def read_reference(folder: Path, root: Path, settings: ReferenceSettings, signature: Signature) -> Reference:
    """The reference that was kept in `folder`. Raises ReplayBroken or CaptureUnreadable when it is not whole."""
    try:
        kept = _Kept.model_validate_json((folder / _FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise ReplayBroken(f"{folder / _FILE} cannot be read") from error
    prepared = tuple(_prepared(p, root, settings, signature) for p in kept.prepared)
    for number, one in enumerate(prepared):
        one.oracles.take_up(folder / f"{_ORACLES}_{number}")
    return Reference(settings, signature, prepared, None, kept.notes)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class _Run(_Record):
    label: str
    launch: Path
    inputs: Path | None
    result: Path
    spread: tuple[tuple[int, int, float], ...]
    sizes: tuple[tuple[int, int, float], ...]
    same_bits: bool
    same_words: bool = True


class _Dispatch(_Record):
    runs: tuple[_Run, ...]
    repeated: _Run
    dropped: tuple[Trial, ...]
    inputs: tuple[tuple[str, int, str], ...] = ()
    held_s: float | None = None


class _Kept(_Record):
    prepared: tuple[_Dispatch, ...]
    notes: tuple[str, ...]


def _described(prepared: Prepared, root: Path) -> _Dispatch:
    return _Dispatch(
        runs=tuple(_run(r, root) for r in prepared.runs),
        repeated=_run(prepared.repeated, root),
        dropped=prepared.dropped,
        inputs=tuple((i.name, i.trials, i.why) for i in prepared.inputs),
        held_s=prepared.held_s,
    )


def _run(run: ReferenceRun, root: Path) -> _Run:
    return _Run(
        label=run.label,
        launch=run.dispatch.directory.relative_to(root),
        inputs=run.inputs.relative_to(root) if run.inputs is not None else None,
        result=run.result.directory.relative_to(root),
        spread=tuple((buffer, start, size) for (buffer, start), size in run.spread.items()),
        sizes=tuple(
            (b.index, s.start, run.size_of(b, s))
            for b in run.dispatch.buffers
            for s in run.pieces[b.index]
            if s.element.kind == "float" and run.access[b.index].any(WRITTEN, s.start, s.end)
        ),
        same_bits=run.same_bits,
        same_words=run.same_words,
    )


def _prepared(kept: _Dispatch, root: Path, settings: ReferenceSettings, signature: Signature) -> Prepared:
    dispatch = read_dispatch(root / kept.runs[0].launch)
    types = signature.pointees(dispatch.kernel, demangle(dispatch.kernel, settings.cxxfilt))
    runs = tuple(_taken_up(r, root, dispatch if i == 0 else None, types) for i, r in enumerate(kept.runs))
    # Validation looks at whether the repeated run is the captured one itself.
    repeated = runs[0] if kept.repeated == kept.runs[0] else _taken_up(kept.repeated, root, None, types)
    work = settings.work / f"dispatch_{dispatch.id}"
    inputs = tuple(VariedInput(*one) for one in kept.inputs)
    oracles = Oracles(settings, runs[0], TOLD, work)
    return Prepared(dispatch, runs, repeated, kept.dropped, oracles, inputs, kept.held_s)


def _taken_up(kept: _Run, root: Path, dispatch: CapturedDispatch | None, types: Pointees) -> ReferenceRun:
    launch = dispatch or read_dispatch(root / kept.launch)
    inputs = root / kept.inputs if kept.inputs is not None else None
    result = read_result(ReplayRequest(launch, launch.code_object, root / kept.result, inputs=inputs))
    if result is None or result.status != "ok":
        raise ReplayBroken(f"{root / kept.result} holds no finished replay")
    return ReferenceRun(
        kept.label,
        launch,
        inputs,
        pieces_of(launch, types),
        result,
        access_of(result, launch),
        {(buffer, start): size for buffer, start, size in kept.spread},
        kept.same_bits,
        {(buffer, start): size for buffer, start, size in kept.sizes},
        read_unspecified(result.directory, launch),
        same_words=kept.same_words,
    )
