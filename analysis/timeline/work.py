"""The work of the GPUs in a run, launches and copies, in columns and in the order of their starts.

Takes the tables of a Profile, gives `GpuWork`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.profile import Tables
from hipscope.analysis.timeline.host_calls import UNKNOWN, Events, copy_words, events_of
from hipscope.analysis.timeline.intervals import Times

if TYPE_CHECKING:
    from pandas import Series

HOUR = 3_600_000_000_000
LAUNCHES = "launches"
_LAUNCH_COLUMNS = ("process", "thread", "correlation", "queue", "stream")


class LaneKey(NamedTuple):
    """A queue and stream of launches, or the stream of copies of one direction; None where not recorded."""

    gpu: str
    queue: int | None
    stream: int | None
    what: str


@dataclass(frozen=True, eq=False)
class GpuWork:
    """Launches and copies by start. `row` is that of the table of launches, UNKNOWN for a copy.

    `kernel` is a place in `kernels`, `lane` in `lanes`, `gpu` and `other` in `names`: a copy has two, -1 is none.
    Work of one `order` ran in order.
    """

    start: Times
    end: Times
    row: Times
    kernel: Times
    gpu: Times
    other: Times
    lane: Times
    order: Times
    process: Times
    thread: Times
    correlation: Times
    is_copy: NDArray[np.bool_]
    kernels: Sequence[str]
    names: Sequence[str]
    gpus: Sequence[str]
    lanes: Sequence[LaneKey]

    @property
    def begin(self) -> int:
        """The first start."""
        return int(self.start[0])

    @property
    def finish(self) -> int:
        """The last end."""
        return int(self.end.max())

    def touches(self, gpu: str) -> NDArray[np.bool_]:
        """Which launches ran on a GPU, and which copies went to it or came from it."""
        place = self.names.index(gpu)
        found: NDArray[np.bool_] = (self.gpu == place) | (self.other == place)
        return found

    def name(self, place: int) -> str:
        """The kernel of a launch, or what a copy does."""
        return self.kernels[int(self.kernel[place])]

    def calls_of(self, calls: Events) -> Times:
        """The call that launched each piece of work, by correlation: a place among the calls, -1 where unknown."""
        found = np.full(len(self.start), -1, dtype=np.int64)
        known: dict[int, list[int]] = {}
        for place, number in enumerate(calls.correlation.tolist()):
            if number > 0:
                known.setdefault(number, []).append(place)
        if not known:
            return found
        for place, number in enumerate(self.correlation.tolist()):
            for call in known.get(number, ()) if number > 0 else ():
                if self._made_by(place, calls, call):
                    found[place] = call
                    break
        return found

    def _made_by(self, place: int, calls: Events, call: int) -> bool:
        """Numbers start again in each process: thread and process have to be the same where both are known."""
        pairs = (
            (int(self.process[place]), int(calls.process[call])),
            (int(self.thread[place]), int(calls.thread[call])),
        )
        same = all(UNKNOWN in pair or pair[0] == pair[1] for pair in pairs)
        return same and int(calls.start[call]) <= int(self.start[place])


def gpu_work(tables: Tables, notes: list[str]) -> GpuWork | None:
    """What ran on the GPUs; None where no launch has a time of its own."""
    if tables.timing == "none":
        return None
    frame = tables.launches_with("start", "end", *_LAUNCH_COLUMNS)
    start, end = _whole(frame["start"]), _whole(frame["end"])
    rows = np.flatnonzero((start != UNKNOWN) & (end > start))
    if not len(rows):
        return None
    names = [str(name) for name in frame["agent"].cat.categories] or [""]
    kernels = [str(name) for name in frame["kernel"].cat.categories]
    agent = frame["agent"].cat.codes.to_numpy().astype(np.int64)[rows]
    gpus = [names[place] for place in np.unique(agent).tolist()]
    copies = _near(events_of(tables.events("copies")), int(start[rows].min()), int(end[rows].max()), notes)
    places = {name: place for place, name in enumerate(names)}
    to, source = (_agents(column, places) for column in (copies.target, copies.source))
    only = places[gpus[0]] if len(gpus) == 1 else -1
    words = [copy_words(name) for name in copies.name.tolist()]
    codes = {word: len(kernels) + n for n, word in enumerate(dict.fromkeys(words))}
    gpu = np.where(np.isin(to, agent), to, np.where(np.isin(source, agent), source, only))
    columns = {
        "start": (start[rows], copies.start),
        "end": (end[rows], copies.end),
        "row": (rows, np.full(len(copies), UNKNOWN, dtype=np.int64)),
        "kernel": (
            frame["kernel"].cat.codes.to_numpy().astype(np.int64)[rows],
            np.array([codes[word] for word in words], dtype=np.int64),
        ),
        "gpu": (agent, gpu),
        "other": (np.full(len(rows), -1, dtype=np.int64), np.where(np.isin(source, agent), source, -1)),
        "is_copy": (np.zeros(len(rows), dtype=bool), np.ones(len(copies), dtype=bool)),
        **{name: (_whole(frame[name])[rows], getattr(copies, name)) for name in _LAUNCH_COLUMNS},
    }
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    order = np.argsort(joined["start"], kind="stable")
    joined = {name: column[order] for name, column in joined.items()}
    lane, lanes = _lanes(joined, (*kernels, *codes), names)
    in_order = _orders(joined)
    del joined["queue"], joined["stream"]
    return GpuWork(
        **joined, lane=lane, order=in_order, kernels=(*kernels, *codes), names=names, gpus=gpus, lanes=lanes
    )


def _lanes(
    columns: dict[str, NDArray[Any]], kernels: Sequence[str], names: Sequence[str]
) -> tuple[Times, list[LaneKey]]:
    """What is drawn: launches by GPU, queue and stream, copies by direction and stream, processes apart."""
    kind = np.where(columns["is_copy"], columns["kernel"], -1)
    keys = [columns["gpu"], columns["queue"], columns["stream"], kind]
    place = _groups([*keys, columns["process"]])
    first = np.zeros(int(place.max()) + 1, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    lanes = [
        LaneKey(
            names[gpu] if gpu >= 0 else "",
            None if queue == UNKNOWN else queue,
            None if stream == UNKNOWN else stream,
            kernels[what] if what >= 0 else LAUNCHES,
        )
        for gpu, queue, stream, what in zip(*(key[first].tolist() for key in keys), strict=True)
    ]
    return place, lanes


def _groups(columns: Sequence[NDArray[Any]]) -> Times:
    """A number for each row; rows that are the same in all columns have the same."""
    import pandas

    place = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes, values = pandas.factorize(column)
        place = pandas.factorize(place * len(values) + codes)[0]
    return place.astype(np.int64)


def _orders(columns: dict[str, NDArray[Any]]) -> Times:
    """Which work ran in order: that of a stream, or that of a queue where streams do not tell queues apart.

    Copies have no queue: without streams, those of one direction are an order of their own.
    """
    copies = columns["is_copy"]
    streams, queues = (np.unique(columns[name][~copies]) for name in ("stream", "queue"))
    by_stream = UNKNOWN not in streams and len(streams) >= len(queues)
    kind = np.where(copies & (columns["stream"] == UNKNOWN if by_stream else True), columns["kernel"], -1)
    first = columns["stream"] if by_stream else columns["queue"]
    return _groups([columns["process"], columns["gpu"] * (not by_stream), first, kind])


def _near(copies: Events, begin: int, finish: int, notes: list[str]) -> Events:
    """Without copies that are an hour or more from any launch: they are of another run."""
    near = (copies.end > begin - HOUR) & (copies.start < finish + HOUR)
    if not near.all():
        notes.append(
            f"{int((~near).sum())} copies are an hour or more from any launch: of another run, left out"
        )
    return copies.take(near)


def _agents(column: NDArray[Any], places: dict[str, int]) -> Times:
    found = []
    for name in column.tolist():
        known = name if name in places else f"Agent {name}"
        found.append(places.get(known, -1))
    return np.array(found, dtype=np.int64)


def _whole(column: Series[Any]) -> Times:
    if column.dtype == np.int64:
        return np.asarray(column)
    return column.fillna(UNKNOWN).to_numpy(dtype=np.int64)
